"""Tables 2 and 5 of WeCFL as printed: accuracy and macro F1 in per cent, means of five runs, and some spreads."""

from __future__ import annotations

Figures = dict[str, dict[str, tuple[float, float]]]  # by number of clusters and method: accuracy, macro F1

TABLE2: dict[str, Figures] = {
    "fmnist-dirichlet": {
        "k1": {"fedavg": (86.08, 57.24), "fedprox": (86.32, 58.03)},
        "k5": {
            "fedavg+": (87.61, 59.48),
            "fedprox+": (87.94, 59.83),
            "ifca": (84.60, 62.03),
            "fesem": (94.64, 82.90),
            "wecfl": (94.64, 84.4),
        },
        "k10": {
            "fedavg+": (89.42, 67.83),
            "fedprox+": (89.55, 68.02),
            "ifca": (82.10, 62.62),
            "fesem": (95.73, 89.34),
            "wecfl": (95.88, 89.81),
        },
    },
    "fmnist-classes": {
        "k1": {"fedavg": (86.33, 46.09), "fedprox": (86.42, 45.86)},
        "k5": {
            "fedavg+": (86.95, 65.61),
            "fedprox+": (86.52, 65.73),
            "ifca": (84.94, 66.50),
            "fesem": (94.20, 77.07),
            "wecfl": (94.97, 77.36),
        },
        "k10": {
            "fedavg+": (86.91, 63.01),
            "fedprox+": (86.73, 63.42),
            "ifca": (86.58, 66.22),
            "fesem": (95.54, 84.43),
            "wecfl": (97.10, 88.96),
        },
    },
    "cifar-dirichlet": {
        "k1": {"fedavg": (24.38, 11.69), "fedprox": (24.73, 11.28)},
        "k5": {
            "fedavg+": (25.97, 12.16),
            "fedprox+": (26.05, 12.53),
            "ifca": (34.1, 22.12),
            "fesem": (59.06, 32.33),
            "wecfl": (59.26, 32.26),
        },
        "k10": {
            "fedavg+": (28.45, 13.79),
            "fedprox+": (28.33, 13.64),
            "ifca": (34.84, 22.76),
            "fesem": (66.89, 38.35),
            "wecfl": (70.95, 40.19),
        },
    },
    "cifar-classes": {
        "k1": {"fedavg": (21.33, 9.0), "fedprox": (22.66, 9.23)},
        "k5": {
            "fedavg+": (24.35, 9.06),
            "fedprox+": (24.83, 9.31),
            "ifca": (29.80, 17.90),
            "fesem": (58.76, 35.75),
            "wecfl": (62.44, 38.55),
        },
        "k10": {
            "fedavg+": (27.28, 9.81),
            "fedprox+": (26.94, 9.64),
            "ifca": (34.06, 18.7),
            "fesem": (71.76, 49.72),
            "wecfl": (72.13, 50.65),
        },
    },
}
SPREADS: dict[str, tuple[float, float]] = {  # of Table 2, K = 10: standard deviation of accuracy of IFCA and of WeCFL
    "fmnist-dirichlet": (5.40, 0.85),
    "fmnist-classes": (4.97, 0.51),
    "cifar-dirichlet": (5.82, 3.57),
    "cifar-classes": (2.60, 1.88),
}
TABLE5: dict[str, Figures] = {
    "fmnist-dirichlet": {
        "k1": {"fedavg": (85.9, 54.52), "fedprox": (86.03, 54.69)},
        "k5": {
            "fedavg+": (86.12, 61.07),
            "fedprox+": (86.39, 56.56),
            "ifca": (90.13, 68.47),
            "fesem": (91.51, 73.78),
            "wecfl": (91.59, 74.45),
        },
        "k10": {
            "fedavg+": (86.81, 60.43),
            "fedprox+": (86.24, 56.2),
            "ifca": (91.04, 68.6),
            "fesem": (93.3, 80.47),
            "wecfl": (94.21, 79.31),
        },
    },
    "fmnist-classes": {
        "k1": {"fedavg": (86.17, 44.88), "fedprox": (86.47, 44.89)},
        "k5": {
            "fedavg+": (86.5, 45.39),
            "fedprox+": (86.15, 45.43),
            "ifca": (91.54, 72.3),
            "fesem": (91.83, 71.05),
            "wecfl": (91.76, 69.47),
        },
        "k10": {
            "fedavg+": (86.91, 47.12),
            "fedprox+": (86.78, 42.83),
            "ifca": (91.42, 72.29),
            "fesem": (93.75, 79.39),
            "wecfl": (94.05, 81.41),
        },
    },
    "cifar-dirichlet": {
        "k1": {"fedavg": (25.62, 11.38), "fedprox": (25.72, 11.14)},
        "k5": {
            "fedavg+": (25.71, 12.45),
            "fedprox+": (25.58, 12.43),
            "ifca": (47.21, 22.67),
            "fesem": (54.3, 24.78),
            "wecfl": (55.09, 27.29),
        },
        "k10": {
            "fedavg+": (27.83, 13.65),
            "fedprox+": (25.86, 12.84),
            "ifca": (47.62, 23.36),
            "fesem": (67.0, 31.69),
            "wecfl": (69.47, 34.1),
        },
    },
    "cifar-classes": {
        "k1": {"fedavg": (24.3, 8.56), "fedprox": (24.19, 8.69)},
        "k5": {
            "fedavg+": (24.83, 8.74),
            "fedprox+": (25.88, 8.55),
            "ifca": (46.54, 17.78),
            "fesem": (55.55, 32.8),
            "wecfl": (55.89, 33.12),
        },
        "k10": {
            "fedavg+": (27.71, 9.65),
            "fedprox+": (26.16, 9.94),
            "ifca": (47.96, 17.88),
            "fesem": (63.64, 42.97),
            "wecfl": (66.8, 45.61),
        },
    },
}
