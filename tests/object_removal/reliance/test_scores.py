"""Numbers against loops, and encoders whose answer is known: one sees only the object, one only its surroundings."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.metrics import slow
from trainers.config import DataChoice
from trainers.metrics.bootstrap import bootstrap
from trainers.metrics.neighbours import Classes, nearest
from trainers.object_removal.reliance.objects import ObjectImages, ObjectRequest
from trainers.object_removal.reliance.queries import (
    ALONE,
    PLACEBO,
    SILHOUETTE,
    WHOLE,
    WITHOUT,
    Queries,
    beside,
    make_queries,
)
from trainers.object_removal.reliance.results import (
    CONTRASTS,
    MISSED,
    STAYS,
    ArmBackground,
    BackgroundResult,
    FormScores,
    chance,
    score_forms,
)
from trainers.object_removal.reliance.sources import load_objects


@pytest.fixture(scope="module")
def objects() -> ObjectImages:
    choice = DataChoice(source="drawn", max_images=480)
    request = ObjectRequest(data=choice, test_set=True, channels=3, side=32, limit=10_000)
    return load_objects(request)


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


_SCORES: dict[tuple[str, bool], dict[str, FormScores]] = {}  # embedding every form takes a while


def scores_of(objects: ObjectImages, queries: Queries, *, pot: bool) -> dict[str, FormScores]:
    """Of an encoder that sees the pot alone, or all but the pot."""
    if (queries.key, pot) not in _SCORES:
        _SCORES[queries.key, pot] = _scored(objects, queries, pot)
    return dict(_SCORES[queries.key, pot])


def _scored(objects: ObjectImages, queries: Queries, pot: bool) -> dict[str, FormScores]:
    masks = objects.masks(np.arange(len(objects)))
    seen = masks if pot else ~masks
    forms = {form: embedded(images, seen[queries.indices]) for form, images in queries.forms.items()}
    return score_forms(forms, embedded(objects.images, seen), objects.labels, queries.indices)


@pytest.mark.long
def test_an_encoder_that_sees_the_pot_alone_loses_nothing_with_the_background(
    objects: ObjectImages, exact: Queries
) -> None:
    scores = scores_of(objects, exact, pot=True)
    assert scores[ALONE].stays.tolist() == [1.0] * len(exact)
    for name, values in scores[WHOLE].metrics.items():
        assert np.array_equal(values, scores[ALONE].metrics[name])
    assert scores[WITHOUT].stays.mean() < 0.15
    for name, values in scores[WITHOUT].metrics.items():
        assert values.mean() < scores[WHOLE].metrics[name].mean()


@pytest.mark.long
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


def test_every_number_is_that_of_a_loop(objects: ObjectImages, exact: Queries) -> None:
    generator = torch.Generator().manual_seed(1)
    net = torch.randn(3 * 32 * 32, 12, generator=generator)
    gallery = objects.images.float().flatten(1) @ net - 500
    asked = (WHOLE, WITHOUT, PLACEBO)
    forms = {form: exact.forms[form].float().flatten(1) @ net - 500 for form in asked}
    scores = score_forms(forms, gallery, objects.labels, exact.indices)
    depth = objects.labels.shape[1]
    unit = gallery.double().numpy() / np.linalg.norm(gallery.double().numpy(), axis=1, keepdims=True)
    before = {}
    for form, queries in forms.items():
        for q, place in enumerate(exact.indices.tolist()):
            others = [row for row in range(len(unit)) if row != place]
            one = queries[q].double().numpy()
            one /= np.linalg.norm(one)
            order = sorted(others, key=lambda row: -float(unit[row] @ one))
            (levels,) = slow.ranked_levels(one[None], objects.labels[[place]], unit[others], objects.labels[others])
            assert scores[form].metrics["R_at_1"][q] == float(levels[0] == depth)
            assert scores[form].metrics["HAP"][q] == pytest.approx(slow.hap(levels, depth), abs=1e-9)
            found = nearest(queries[q : q + 1].double(), gallery.double(), 10, own=exact.indices[q : q + 1])
            assert found.ids[0].tolist() == order[:10]
            before.setdefault(q, set(order[:10]))
            assert scores[form].stays[q] == len(before[q] & set(order[:10])) / 10
    same = (objects.labels[:, 0][None] == objects.labels[exact.indices, 0][:, None]).sum(1) - 1
    assert chance(objects.labels, exact.indices) == pytest.approx(float((same / (len(unit) - 1)).mean()))


def test_an_image_is_never_its_own_neighbour_and_small_galleries_give_fewer() -> None:
    gallery = torch.eye(4)
    within = nearest(gallery, gallery, 10, own=np.arange(4)).ids
    assert within.tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    assert nearest(gallery[:1], gallery, 2, own=np.array([-1])).ids.tolist() == [[0, 1]]


def result_of(objects: ObjectImages, queries: Queries, *arms: dict[str, FormScores]) -> BackgroundResult:
    measured = (ArmBackground(run="run", arm=at, title=f"arm {at}", scores=scores) for at, scores in enumerate(arms))
    return dataclasses.replace(BackgroundResult.of(objects, queries, measured), test_set=True)


def test_intervals_are_paired_and_differences_have_both_signs(objects: ObjectImages, exact: Queries) -> None:
    pot, background = (scores_of(objects, exact, pot=seen) for seen in (True, False))
    result = result_of(objects, exact, pot, background)
    for arm, scores in zip(result.arms, (pot, background), strict=True):
        for number in arm.numbers(3):
            form, metric = number["form"], number["measure"]
            lost = None
            if form in CONTRASTS:
                both = CONTRASTS[form]
                values = arm.values(both.first, metric) - arm.values(both.second, metric)
            elif metric in (STAYS, MISSED):
                values = scores[form].stays if metric == STAYS else scores[form].missed
            else:
                values = scores[form].metrics[metric]
                lost = None if form == WHOLE else bootstrap(scores[WHOLE].metrics[metric] - values)
            mean = bootstrap(values)
            assert [number[key] for key in ("mean", "low", "high", "queries")] == list(dataclasses.astuple(mean))
            three = (None, None, None) if lost is None else (lost.mean, lost.low, lost.high)
            assert tuple(number[key] for key in ("lost", "lost_low", "lost_high")) == three
            assert lost is None or lost.low <= lost.mean <= lost.high
    assert len(result.table()) == 2 * (3 + 4 * 4 + 2 * 3)
    assert result.csv().count("\n") == len(result.table()) + 1


def test_the_object_alone_stands_before_the_mean_colour_of_the_gallery(objects: ObjectImages, exact: Queries) -> None:
    colour = objects.images.double().mean(dim=(0, 2, 3)).round().to(torch.uint8)
    masks = torch.from_numpy(objects.masks(exact.indices))
    whole, alone = exact.forms[WHOLE], exact.forms[ALONE]
    for query, mask in enumerate(masks):
        assert torch.equal(alone[query][:, mask], whole[query][:, mask])
        assert (alone[query][:, ~mask] == colour[:, None]).all()
    assert torch.equal(whole, objects.images[torch.from_numpy(exact.indices)])
    assert exact.fill == "rerender"


def test_the_placebo_is_as_large_as_the_object_and_beside_it(objects: ObjectImages, painted: Queries) -> None:
    masks = objects.masks(painted.indices)
    assert painted.placebo.all() and painted.placebo_fill == "mean"
    whole, placebo = painted.forms[WHOLE], painted.forms[PLACEBO]
    for query, mask in enumerate(masks):
        free = beside(mask)
        assert free is not None and free.sum() == mask.sum() and not (free & mask).any()
        changed = (whole[query] != placebo[query]).any(0).numpy()
        assert not (changed & ~free).any() and changed.sum() > 0.8 * mask.sum()


@pytest.mark.parametrize("side", [9, 24])
def test_an_object_across_the_image_has_a_placebo_until_it_covers_more_than_half(side: int) -> None:
    cross = np.zeros((side, side), dtype=bool)
    cross[side // 2], cross[:, side // 2] = True, True
    free = beside(cross)
    assert free is not None and free.sum() == cross.sum() and not (free & cross).any()
    half = np.zeros((side, side), dtype=bool)
    half[: side // 2] = True
    assert beside(half) is not None
    half[side // 2 : side // 2 + 2] = True
    assert beside(half) is None


def test_a_query_without_a_placebo_counts_for_the_other_forms_alone(objects: ObjectImages, exact: Queries) -> None:
    scores = scores_of(objects, exact, pot=True)
    some = np.arange(len(exact)) % 4 > 0
    scores[PLACEBO] = scores[PLACEBO].only(some)
    queries = {
        (number["form"], number["measure"]): number["queries"] for number in result_of(objects, exact, scores).table()
    }
    assert queries[PLACEBO, "R_at_1"] == queries["placebo - without", "HAP"] == some.sum()
    assert queries[WHOLE, "R_at_1"] == len(exact)


def test_the_silhouette_keeps_the_outline_and_nothing_in_it(objects: ObjectImages, exact: Queries) -> None:
    colour = objects.images.double().mean(dim=(0, 2, 3)).round().to(torch.uint8)
    for query, mask in enumerate(torch.from_numpy(objects.masks(exact.indices))):
        silhouette = exact.forms[SILHOUETTE][query]
        assert (silhouette[:, mask] == colour[:, None]).all()
        assert torch.equal(silhouette[:, ~mask], exact.forms[WHOLE][query][:, ~mask])
    outline = {form: objects.masks(exact.indices).reshape(len(exact), -1) for form in (WHOLE, SILHOUETTE)}
    assert np.array_equal(*outline.values())


def test_severity_given_a_wrong_first_result(objects: ObjectImages, exact: Queries) -> None:
    scores = scores_of(objects, exact, pot=True)
    result = result_of(objects, exact, scores)
    masks = objects.masks(np.arange(len(objects)))
    gallery = embedded(objects.images, masks)
    classes = Classes(queries=objects.labels[exact.indices], gallery=objects.labels)
    for form, score in scores.items():
        wrong = []
        queries = embedded(exact.forms[form], masks[exact.indices])
        first = nearest(queries.double(), gallery.double(), 1, classes=classes, own=exact.indices).ids[:, 0]
        for query, index in enumerate(exact.indices):
            same = (objects.labels[first[query]] == objects.labels[index]).sum()
            assert np.isnan(score.missed[query]) if same == 3 else score.missed[query] == 3 - same
            wrong += [3 - same] if same < 3 else []
        number = result.arms[0].number(form, MISSED)
        assert number["queries"] == len(wrong) and number["mean"] == pytest.approx(np.mean(wrong))
