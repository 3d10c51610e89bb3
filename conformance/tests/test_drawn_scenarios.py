"""Scenarios that are drawn at random: reproducible, runnable, and about everything that they claim to mix."""

from __future__ import annotations

from typing import get_args

import pytest
from pydantic import TypeAdapter

from xmcp_conformance.profiles.client.drawn_scenarios import THEMES, USUAL, about_of, drawn_scenarios, of_name
from xmcp_conformance.profiles.client.scenario import Scenario, needed_features
from xmcp_conformance.profiles.client.scenario_files import NoScenarios, scenarios_in
from xmcp_conformance.profiles.client.scenarios import SCENARIOS
from xmcp_conformance.profiles.client.sent_displays import DisplayKind

FORM = TypeAdapter(dict[str, Scenario])
MANY = drawn_scenarios(200, 7)


def test_a_seed_draws_the_same_scenarios_however_many_and_another_seed_draws_others() -> None:
    assert drawn_scenarios(3, 7) == dict([*MANY.items()][:3])
    assert of_name("drawn: 3 of seed 7") == MANY["drawn: 3 of seed 7"]
    assert [*drawn_scenarios(3, 8).values()] != [*MANY.values()][:3]


@pytest.mark.parametrize(
    "name", ["drawn: 0 of seed 7", "drawn: 3", "drawn: x of seed 7", "drawn: 3 of seed 7 ", "drawn: 3 of seed 07", ""]
)
def test_other_names_name_no_scenario(name: str) -> None:
    assert of_name(name) is None


def test_every_drawn_scenario_is_one_that_somebody_could_have_written_into_a_file() -> None:
    mine = {name.replace("drawn", "mine"): one for name, one in MANY.items()}
    assert scenarios_in(FORM.dump_json(mine), SCENARIOS).keys() == mine.keys()


def test_a_file_cannot_take_the_name_of_a_drawn_scenario() -> None:
    with pytest.raises(NoScenarios, match="are those of drawn scenarios"):
        scenarios_in(FORM.dump_json({"Drawn: 1 of seed 7": MANY["drawn: 1 of seed 7"]}), SCENARIOS)


def test_what_the_suite_has_scenarios_for_is_drawn_too() -> None:
    known = {feature for one in SCENARIOS.values() for feature in needed_features(one)}
    assert {feature for one in MANY.values() for feature in needed_features(one)} == known
    acts = [act for one in MANY.values() for of in one.acts.values() for act in of]
    kinds = {act.kind for one in SCENARIOS.values() for of in one.acts.values() for act in of}
    assert {act.kind for act in acts} == kinds - {"down"}  # over HTTP nobody sees a call that never arrived
    assert {act.display for act in acts} == {*get_args(DisplayKind)}
    asks = [ask for one in MANY.values() for chat in one.chats for says in chat.script for ask in says.asks]
    assert {isinstance(ask.tool, str) for ask in asks} == {True, False}
    assert any(ask.written is not None for ask in asks)


def test_each_theme_changes_things_that_there_are_and_each_pair_of_themes_is_drawn_before_one_comes_again() -> None:
    assert {name for theme in THEMES.values() for name in theme} <= set(USUAL)
    number = len(THEMES)
    pairs = {about_of(place, seed) for seed in (7,) for place in range(number * (number + 1) // 2)}
    assert len(pairs) == number + number * (number - 1) // 2
