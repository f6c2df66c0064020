"""Things by name: algorithms, partitions, data sets, models, aggregators. Shoal's own, a package's, a file's."""

from shoal.registry.files import import_file as import_file
from shoal.registry.files import own_files as own_files
from shoal.registry.origins import mark as mark
from shoal.registry.origins import near as near
from shoal.registry.origins import origins as origins
from shoal.registry.origins import recover as recover
from shoal.registry.origins import trust as trust
from shoal.registry.plugins import Plugin as Plugin
from shoal.registry.registry import Registry as Registry
