"""The main statements of the papers: those of abstracts and conclusions, and what each method is known for."""

from __future__ import annotations

__all__ = ["MAIN"]

MAIN: tuple[str, ...] = (
    "fedgroup/headline-fedavg-femnist-mlp",
    "fedgroup/headline-fesem-mnist-mclr",
    "fedgroup/headline-fesem-femnist-mlp",
    "fedgroup/above-rac-femnist-mlp",
    "fedgroup/prox-no-gain",
    "fedgroup/edc-madc",
    "flexcfl/average-fedavg-FEMNIST",
    "flexcfl/fashion-fedprox",
    "flexcfl/average-fesem-MNIST",
    "flexcfl/average-fesem-FEMNIST",
    "flexcfl/average-all-fedavg-FEMNIST",
    "flexcfl/average-part-ifca-MNIST",
    "flexcfl/average-part-ifca-FEMNIST",
    "flexcfl/traffic",
    "cfl/exact-split-rounds",
    "cfl/doubles-split-rounds",
    "cfl/sixty-split-rounds",
    "wecfl/fedavg-fmnist-dirichlet",
    "wecfl/fedavg-fmnist-classes",
    "wecfl/fedavg-cifar-dirichlet",
    "wecfl/fesem-cifar-dirichlet",
    "wecfl/fesem-cifar-classes",
    "wecfl/ifca-cifar-dirichlet",
    "wecfl/ifca-cifar-classes",
    "wecfl/settled-cifar-dirichlet",
    "fedgsp/fedavg",
    "fedgsp/seven",
    "fedgsp/seven-rounds",
    "fedgsp/time",
    "fedgsp/icg",
    "fedgsp/above-icg",
)
