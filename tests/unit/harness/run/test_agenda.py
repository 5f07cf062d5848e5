"""Which lane runs which block."""

from __future__ import annotations

from harness.run.agenda import Agenda


def test_blocks_go_out_in_their_order() -> None:
    agenda = Agenda([3, 1, 2], {})
    for lane, block in ((1, 1), (2, 2)):
        assert agenda.candidate(lane, {1, 2}) == block
        agenda.begin(lane, block)
    agenda.end(2)
    assert agenda.candidate(2, {1, 2}) == 3
    agenda.begin(2, 3)
    assert agenda.candidate(1, {1, 2}) is None
    assert not agenda.all_ended
    agenda.end(1)
    agenda.end(2)
    assert agenda.all_ended


def test_a_block_goes_on_in_the_lane_that_began_it() -> None:
    agenda = Agenda([1, 2, 3, 4], {1: 2, 2: 1})
    assert agenda.candidate(1, {1, 2}) == 2
    assert agenda.candidate(2, {1, 2}) == 1
    assert agenda.candidate(3, {1, 2, 3}) == 3


def test_a_block_of_a_lane_that_there_is_no_more_goes_to_any() -> None:
    agenda = Agenda([1, 2, 3], {1: 4, 2: 3})
    assert agenda.candidate(1, {1, 2}) == 1


def test_the_block_of_a_lane_that_died_is_finished_by_another() -> None:
    agenda = Agenda([1, 2, 3], {})
    agenda.begin(1, 1)
    agenda.begin(2, 2)
    agenda.put_back(1)
    agenda.put_back(1)  # it had nothing more
    agenda.end(2)
    assert agenda.candidate(2, {2}) == 1


def test_what_is_next_has_nothing_before_it() -> None:
    agenda = Agenda([1, 2, 3], {})
    assert agenda.is_next(1)
    assert not agenda.is_next(2)
    agenda.begin(1, 1)
    assert not agenda.is_next(2)
    agenda.end(1)
    assert agenda.is_next(2)
