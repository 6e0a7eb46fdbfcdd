"""Names that are known without importing torch are those of the classes and registries."""

from fslcore import catalogue, learners
from fslcore.models import networks
from fslcore.models.registry import available, entries, shipped


def test_names_known_without_torch_are_those_of_the_registries():
    assert sorted(catalogue.backbones()) == sorted(available())
    assert sorted(catalogue.NETWORKS) == sorted(networks.NETWORKS)


def test_the_table_of_learners_is_what_their_classes_say():
    for name, kind in (learners.of_features | learners.of_images).items():
        entry = catalogue.LEARNERS_BY_NAME[name]
        assert (kind.name, kind.reads, kind.transductive) == (name, entry.reads, entry.transductive)


def test_names_by_kind_are_those_of_the_registry():
    groups = catalogue.by_kind()
    kinds = {name: kind for kind, names in groups["backbones"].items() for name in names}
    for name, entry in entries().items():
        packaged = shipped(name) or isinstance(entry.local, tuple)
        assert kinds.pop(name) == (
            "shipped"
            if packaged
            else "released"
            if entry.backbone.read_at
            else "fetched"
            if entry.hub
            else "brought"
        )
    assert not kinds
    assert groups["learners"]["transductive"] == ["opta", "opta-plain", "sib", "sib-ifsl"]


def test_networks_that_users_train_have_names():
    assert {"conv4-1shot-maml", "resnet12-unisiam"} < {*catalogue.trained_names()}
