"""Names that are known without importing torch are those of the classes and registries."""

from fslcore import catalogue, learners
from fslcore.models import networks
from fslcore.models.registry import available, entries, shipped


def test_names_known_without_torch_are_those_of_the_registries():
    pairs = [
        (catalogue.backbones(), available()),
        (catalogue.known, learners.names),
        (catalogue.NETWORKS, networks.NETWORKS),
    ]
    for names, registry in pairs:
        assert sorted(names) == sorted(registry)


def test_the_table_of_learners_is_what_their_classes_say():
    classes = learners.of_features | learners.of_images
    assert classes.keys() == catalogue.known.keys()
    for name, of in catalogue.known.items():
        kind = classes[name]
        place = f"{kind.__module__.rpartition('.')[2]}:{kind.__name__}"
        assert (kind.name, place, kind.reads, kind.transductive) == (name, of.place, of.reads, of.transductive)
        assert of.title == catalogue.LEARNERS[name]


def test_names_by_kind_are_those_of_the_registry():
    found = catalogue.by_kind()
    kinds = {name: kind for kind, names in found["backbones"].items() for name in names}
    for name, entry in entries().items():
        packaged = shipped(name) or isinstance(entry.local, tuple)
        assert kinds.pop(name) == (
            "shipped" if packaged else "released" if entry.backbone.read_at else "fetched" if entry.hub else "brought"
        )
    assert not kinds
    assert sorted(sum(found["learners"].values(), [])) == sorted(catalogue.known)
