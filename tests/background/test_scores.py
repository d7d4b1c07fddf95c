"""Numbers against loops, and encoders whose answer is known: one sees only the object, one only its surroundings."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.metrics import slow
from trainers.background.objects import ObjectImages
from trainers.background.pooling import pooled
from trainers.background.queries import ALONE, MOVED, WHOLE, WITHOUT, Queries, make_queries
from trainers.background.results import ArmBackground, BackgroundResult
from trainers.background.scores import Scores, chance, nearest, score_forms
from trainers.background.sources import OBJECT_SOURCES, ObjectRequest
from trainers.config import DataChoice
from trainers.errors import UserError
from trainers.metrics.bootstrap import bootstrap


@pytest.fixture(scope="module")
def objects() -> ObjectImages:
    choice = DataChoice(source="drawn", max_images=480)
    request = ObjectRequest(data=choice, own=True, channels=3, side=32, limit=10_000)
    made = OBJECT_SOURCES["drawn"].load(request)
    assert made is not None
    return made


@pytest.fixture(scope="module")
def exact(objects: ObjectImages) -> Queries:
    return make_queries(objects, fill=None, queries=60, seed=0)


@pytest.fixture(scope="module")
def painted(objects: ObjectImages) -> Queries:
    return make_queries(objects, fill="mean", queries=60, seed=0)


def embedded(images: Tensor, seen: np.ndarray) -> Tensor:
    """An encoder that sees the pixels under ``seen`` bool ``[n, S, S]`` alone: means and deviations of their colours.

    Where they are it does not see: the outline of a pot would tell what was removed.
    """
    parts = [image[:, torch.from_numpy(mask)].float() / 255 for image, mask in zip(images, seen, strict=True)]
    return torch.stack([torch.cat([part.mean(1) - 0.4, part.std(1) - 0.15]) for part in parts])


def scores_of(objects: ObjectImages, queries: Queries, *, pot: bool) -> dict[str, Scores]:
    """Of an encoder that sees the pot alone, or all but the pot."""
    masks = objects.masks(np.arange(len(objects)))
    seen = masks if pot else ~masks
    forms = {form: embedded(images, seen[queries.places]) for form, images in queries.forms.items()}
    return score_forms(forms, embedded(objects.images, seen), objects.labels, queries.places)


def test_an_encoder_that_sees_the_pot_alone_loses_nothing_with_the_background(
    objects: ObjectImages, exact: Queries
) -> None:
    scores = scores_of(objects, exact, pot=True)
    assert scores[ALONE].stays.tolist() == [1.0] * len(exact)
    for name, values in scores[WHOLE].metrics.items():
        assert np.array_equal(values, scores[ALONE].metrics[name])
    assert scores[MOVED].stays.mean() > 0.5  # pixels at its edge show some of the background
    assert scores[WITHOUT].stays.mean() < 0.15
    for name, values in scores[WITHOUT].metrics.items():
        assert values.mean() < scores[WHOLE].metrics[name].mean()


def test_an_encoder_that_sees_the_background_alone_does_not_notice_the_pot(
    objects: ObjectImages, exact: Queries, painted: Queries
) -> None:
    scores = scores_of(objects, painted, pot=False)
    assert scores[WITHOUT].stays.tolist() == [1.0] * len(painted)  # the fill changes nothing outside the pot
    for name, values in scores[WHOLE].metrics.items():
        assert np.array_equal(values, scores[WITHOUT].metrics[name])
    assert scores[ALONE].stays.mean() < 0.1
    again = scores_of(objects, exact, pot=False)
    assert again[WITHOUT].stays.mean() > 0.6  # its shadow goes with the pot
    assert again[MOVED].stays.mean() < 0.15


def test_every_number_is_that_of_a_loop(objects: ObjectImages, exact: Queries) -> None:
    generator = torch.Generator().manual_seed(1)
    net = torch.randn(3 * 32 * 32, 12, generator=generator)
    gallery = objects.images.float().flatten(1) @ net - 500
    forms = {form: images.float().flatten(1) @ net - 500 for form, images in exact.forms.items()}
    scores = score_forms(forms, gallery, objects.labels, exact.places)
    depth = objects.labels.shape[1]
    unit = gallery.double().numpy() / np.linalg.norm(gallery.double().numpy(), axis=1, keepdims=True)
    before = {}
    for form, queries in forms.items():
        for q, place in enumerate(exact.places.tolist()):
            others = [row for row in range(len(unit)) if row != place]
            one = queries[q].double().numpy()
            one /= np.linalg.norm(one)
            order = sorted(others, key=lambda row: -float(unit[row] @ one))
            (levels,) = slow.ranked_levels(one[None], objects.labels[[place]], unit[others], objects.labels[others])
            assert scores[form].metrics["R_at_1"][q] == float(levels[0] == depth)
            assert scores[form].metrics["HAP"][q] == pytest.approx(slow.hap(levels, depth), abs=1e-9)
            assert scores[form].nearest[q].tolist() == order[:10]
            before.setdefault(q, set(order[:10]))
            assert scores[form].stays[q] == len(before[q] & set(order[:10])) / 10
            whole = forms[WHOLE][q].double().numpy()
            assert scores[form].similarity[q] == pytest.approx(float(one @ whole / np.linalg.norm(whole)), abs=1e-9)
    same = (objects.labels[:, 0][None] == objects.labels[exact.places, 0][:, None]).sum(1) - 1
    assert chance(objects.labels, exact.places) == pytest.approx(float((same / (len(unit) - 1)).mean()))


def test_an_image_is_never_its_own_neighbour_and_small_galleries_give_fewer() -> None:
    gallery = torch.eye(4)
    assert nearest(gallery, gallery, np.arange(4)).tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    assert nearest(gallery[:1], gallery, np.array([-1]), 2).tolist() == [[0, 1]]


def result_of(objects: ObjectImages, queries: Queries, *arms: dict[str, Scores]) -> BackgroundResult:
    measured = (ArmBackground(run="run", arm=at, title=f"arm {at}", scores=scores) for at, scores in enumerate(arms))
    return dataclasses.replace(BackgroundResult.of(objects, queries, measured), own=True)


def test_intervals_are_paired_and_differences_have_both_signs(objects: ObjectImages, exact: Queries) -> None:
    pot, background = (scores_of(objects, exact, pot=seen) for seen in (True, False))
    result = result_of(objects, exact, pot, background)
    for arm, scores in enumerate((pot, background)):
        for number in result.arms[arm].numbers():
            if number.measure == "stays":
                assert number.interval == bootstrap(scores[number.form].stays) and number.lost is None
                continue
            values = scores[number.form].metrics[number.measure]
            assert number.interval == bootstrap(values)
            if number.form != WHOLE:
                assert number.lost == bootstrap(scores[WHOLE].metrics[number.measure] - values)
                assert number.lost.low <= number.lost.mean <= number.lost.high
    one, other = (result.difference(a, b, WITHOUT, "stays") for a, b in ((0, 1), (1, 0)))
    assert one.high < 0 < other.low and one.mean == pytest.approx(-other.mean)
    assert len(result.table()) == 2 * (2 + 3 * 3) and result.csv().count("\n") == len(result.table()) + 1


def test_queries_that_do_not_notice_come_first_with_their_rows(objects: ObjectImages, exact: Queries) -> None:
    scores = scores_of(objects, exact, pot=False)
    result = result_of(objects, exact, scores)
    listed = result.unnoticing(0)
    assert sorted(one["query"] for one in listed) == list(range(len(exact)))
    keys = [(-one["stays"], -scores[WITHOUT].similarity[one["query"]]) for one in listed]
    assert keys == sorted(keys)
    first = listed[0]
    assert first["place"] == exact.places[first["query"]] and first["row"] == objects.rows[first["place"]]
    assert first["classes"][0] == objects.hierarchy.names[0][objects.labels[first["place"], 0]]
    assert first["nearest"][WHOLE] == scores[WHOLE].nearest[first["query"]].tolist()
    assert result.unnoticing(0, 3) == listed[:3] and len(result.json(5)["arms"][0]["unnoticing"]) == 5


def test_the_object_alone_stands_before_the_mean_colour_of_the_gallery(objects: ObjectImages, exact: Queries) -> None:
    colour = objects.images.double().mean(dim=(0, 2, 3)).round().to(torch.uint8)
    masks = torch.from_numpy(objects.masks(exact.places))
    whole, alone = exact.forms[WHOLE], exact.forms[ALONE]
    for query, mask in enumerate(masks):
        assert torch.equal(alone[query][:, mask], whole[query][:, mask])
        assert (alone[query][:, ~mask] == colour[:, None]).all()
    assert torch.equal(whole, objects.images[torch.from_numpy(exact.places)])
    assert exact.fill == "rerender" and exact.covered.tolist() == pytest.approx(masks.float().mean((1, 2)).tolist())


def test_runs_are_pooled_and_compared_query_by_query(objects: ObjectImages, exact: Queries) -> None:
    pot, background = (scores_of(objects, exact, pot=seen) for seen in (True, False))
    first, second = result_of(objects, exact, pot), result_of(objects, exact, background)
    for number in pooled([first, second], [second, second]):
        own = [one.values(0, number.form, number.measure) for one in (first, second)]
        assert number.interval == bootstrap(np.concatenate(own))
        assert number.runs == tuple(float(values.mean()) for values in own)
        assert number.change == bootstrap(np.concatenate([own[0] - own[1], own[1] - own[1]]))
        assert number.changes == (float((own[0] - own[1]).mean()), 0.0)
    assert all(number.change is None for number in pooled([first, second]))
    shorter = dataclasses.replace(second, places=second.places[:-1])
    for results, others in (([first, second], [second]), ([first], [shorter])):
        with pytest.raises(UserError):
            pooled(results, others)
