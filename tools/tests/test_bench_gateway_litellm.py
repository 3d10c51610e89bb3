"""The race against LiteLLM's proxy: what its figures are made of."""

from __future__ import annotations

import math

import pytest

from tools.bench.gateway_litellm import BAR, Taken, compared


def test_a_figure_is_the_gateways_overhead_divided_by_the_proxys() -> None:
    model, gateway, proxy = Taken(0.001, 0.002, 0.004), Taken(0.003, 0.003, 0.009), Taken(0.011, 0.006, 0.014)
    figures = list(compared(model, gateway, proxy))
    assert [figure.value for figure in figures] == pytest.approx([0.2, 0.25, 0.5])
    assert {figure.bar for figure in figures} == {BAR}
    assert "2.00 ms more than 1.00; LiteLLM 10.00 more" in figures[0].rest


def test_a_proxy_without_any_overhead_is_not_beaten() -> None:
    same = Taken(0.001, 0.001, 0.001)
    assert all(math.isinf(figure.value) for figure in compared(same, same, same))
