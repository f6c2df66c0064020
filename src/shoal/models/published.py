"""The models of the papers: builder, input, number of outputs, arguments."""

from __future__ import annotations

from shoal.models import conv, linear, recurrent
from shoal.models.registry import MODELS, Published

MNIST, CIFAR, TWEET = (1, 28, 28), (3, 32, 32), (25, 300)

PUBLISHED = {
    "mnist-mclr": Published(linear.mclr, MNIST, 10, flat=True),
    "mnist-mlp": Published(linear.mlp, MNIST, 10, flat=True),
    "mnist-cnn": Published(conv.cnn, MNIST, 10),
    "femnist-mclr-26": Published(linear.mclr, MNIST, 26, flat=True),
    "femnist-mclr-10": Published(linear.mclr, MNIST, 10, flat=True),
    "femnist-mlp-26": Published(linear.mlp, MNIST, 26, {"hidden": 512}, flat=True),
    "femnist-mlp-10": Published(linear.mlp, MNIST, 10, {"hidden": 512}, flat=True),
    "femnist-cnn": Published(conv.strided, MNIST, 10),
    "synthetic-mclr": Published(linear.mclr, (60,), 10),
    "fmnist-cnn": Published(conv.leaf, MNIST, 10, {"dense": 1024}),
    "sent140-gru": Published(recurrent.gru, TWEET, 2),
    "sent140-lstm": Published(recurrent.lstm, TWEET, 2),
    "sent140-lstm-fedgroup": Published(recurrent.stacked_lstm, TWEET, 1),
    "wecfl-fmnist": Published(conv.normed, MNIST, 10),
    "wecfl-cifar": Published(conv.lenet, CIFAR, 10),
    "fedgsp-leaf": Published(conv.leaf, MNIST, 62),
    "fedgsp-leaf-small": Published(conv.leaf, MNIST, 62, {"maps": (16, 32), "dense": 128}),
    "cfl-cnn": Published(conv.lenet, CIFAR, 10, {"maps": (32, 64), "dense": (512, 128)}),
    "cfl-notebook": Published(conv.lenet, MNIST, 62, {"dense": ()}),
}

for name, published in PUBLISHED.items():
    MODELS(name)(published)
