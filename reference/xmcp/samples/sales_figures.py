"""The sales figures of a fictitious company, and sums over them.

Revenue is in thousands of euros (k€), January to June 2026.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

Region: TypeAlias = Literal["EMEA", "AMER", "APAC", "LATAM"]
Product: TypeAlias = Literal["Atlas", "Beacon", "Comet"]
Month: TypeAlias = Literal["2026-01", "2026-02", "2026-03", "2026-04", "2026-05", "2026-06"]

REGIONS: tuple[Region, ...] = get_args(Region)
PRODUCTS: tuple[Product, ...] = get_args(Product)
MONTHS: tuple[Month, ...] = get_args(Month)
UNIT = "k€"

REVENUE: dict[Region, dict[Product, tuple[float, ...]]] = {
    "EMEA": {
        "Atlas": (412.5, 420.1, 447.0, 455.8, 431.2, 478.9),
        "Beacon": (228.0, 231.4, 236.9, 244.2, 219.7, 251.3),
        "Comet": (61.2, 66.8, 74.1, 79.9, 83.5, 92.6),
    },
    "AMER": {
        "Atlas": (618.3, 602.7, 640.2, 655.0, 671.8, 690.4),
        "Beacon": (305.6, 299.1, 311.0, 318.7, 322.3, 329.9),
        "Comet": (140.8, 152.2, 149.9, 163.4, 170.1, 182.0),
    },
    "APAC": {
        "Atlas": (198.4, 214.9, 233.3, 256.0, 281.7, 309.5),
        "Beacon": (120.2, 126.6, 135.8, 141.1, 154.9, 163.0),
        "Comet": (88.1, 97.5, 109.2, 124.4, 139.6, 158.8),
    },
    "LATAM": {
        "Atlas": (92.7, 90.3, 94.8, 91.1, 95.5, 96.2),
        "Beacon": (71.0, 69.4, 66.2, 64.9, 63.7, 60.8),
        "Comet": (12.3, 13.0, 12.8, 14.1, 13.9, 15.2),
    },
}

COLOURS: dict[Product, tuple[str, tuple[int, int, int]]] = {
    "Atlas": ("blue", (31, 119, 180)),
    "Beacon": ("orange", (255, 127, 14)),
    "Comet": ("green", (44, 160, 44)),
}
"""The colour of each product in charts: its name, and its red, green and blue."""


def revenue(regions: Sequence[Region], products: Sequence[Product], months: Sequence[Month]) -> float:
    """Return the revenue in k€ over all the given regions, products and months, to one decimal."""
    places = [MONTHS.index(month) for month in months]
    return round(sum(REVENUE[region][product][at] for region in regions for product in products for at in places), 1)


def growth(region: Region, first: Month, last: Month) -> float:
    """Return the change of the region's revenue from `first` to `last` in percent, to one decimal."""
    before, after = (revenue([region], PRODUCTS, [month]) for month in (first, last))
    return round((after / before - 1) * 100, 1)
