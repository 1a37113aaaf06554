use super::*;
use foliot_model::{Kind, TimeRange};

const SERIES: Series = Series { namespace: 0, fits: 0, number: 0 };

fn put(time_ns: i64, bits: u64) -> Change {
    Change::Set(Key::Sample(SERIES, time_ns), Fact::Value(Kind::Integer, bits, vec![]))
}

fn state(changes: &[Change]) -> State {
    let mut state = State::new();
    changes.iter().for_each(|change| change.apply(&mut state));
    state
}

fn push(history: &mut History, lsn: u64, changes: &[Change]) {
    let number = history.begin(changes);
    history.end(number, changes.to_vec(), End::At(lsn));
}

fn history() -> History {
    let mut history = History::default();
    push(&mut history, 10, &[put(1, 1)]);
    push(&mut history, 20, &[put(2, 2), put(3, 3)]);
    push(&mut history, 30, &[put(1, 9)]);
    assert_eq!(history.acknowledge_durable(10), 1);
    history
}

#[test]
fn prefixes_with_all_acknowledged_events_survive() {
    let possible = [
        state(&[put(1, 1)]),
        state(&[put(1, 1), put(2, 2), put(3, 3)]),
        state(&[put(1, 9), put(2, 2), put(3, 3)]),
    ];
    for found in &possible {
        let mut history = history();
        history.survive(Loss::Power, found).unwrap();
        assert_eq!(history.current(), found);
    }
}

#[test]
fn anything_else_is_a_contradiction() {
    let impossible = [
        state(&[]),
        state(&[put(2, 2), put(3, 3)]),
        state(&[put(1, 1), put(2, 2)]),
        state(&[put(1, 9)]),
        state(&[put(1, 1), put(7, 7)]),
        state(&[put(1, 2)]),
    ];
    for found in &impossible {
        assert!(history().survive(Loss::Power, found).is_err(), "{found:?}");
    }
}

#[test]
fn a_dead_process_loses_only_what_was_not_written() {
    let mut killed = history();
    killed.acknowledge_written(20);
    assert!(killed.survive(Loss::Process, &state(&[put(1, 1)])).is_err());
    let found = state(&[put(1, 1), put(2, 2), put(3, 3)]);
    killed.survive(Loss::Process, &found).unwrap();
    // What was recovered is safe.
    assert!(killed.survive(Loss::Power, &state(&[put(1, 1)])).is_err());
    assert!(history().survive(Loss::None, &found).is_err());
}

#[test]
fn the_order_of_the_wal_counts_not_that_of_the_answers() {
    let mut history = History::default();
    push(&mut history, 20, &[put(1, 2)]);
    push(&mut history, 10, &[put(1, 1)]);
    assert_eq!(*history.current(), state(&[put(1, 2)]));
    history.acknowledge_durable(20);
    history.settle();
    assert!(history.survive(Loss::Power, &state(&[put(1, 1)])).is_err());
    history.survive(Loss::Power, &state(&[put(1, 2)])).unwrap();
}

#[test]
fn what_nobody_answered_may_stand_anywhere_after_its_beginning_or_nowhere() {
    let doubtful = |from| {
        let mut history = history();
        let cut = history.cuts(&[SERIES], TimeRange::ALL, Clock::default());
        let number = history.begin(&cut);
        history.end(number, cut, End::After(from));
        history
    };
    let all = state(&[put(1, 9), put(2, 2), put(3, 3)]);
    let possible = [all, state(&[]), state(&[put(1, 9)])];
    for found in &possible {
        doubtful(10).survive(Loss::Power, found).unwrap();
    }
    assert!(doubtful(30).survive(Loss::Power, &state(&[put(1, 9)])).is_err());
}

#[test]
fn an_event_between_two_positions_is_safe_after_the_second() {
    let between = || {
        let mut history = history();
        let namespace = Change::Set(Key::Namespace(1), Fact::Number(1));
        let number = history.begin(std::slice::from_ref(&namespace));
        history.end(number, vec![namespace], End::Between(15, 25));
        history
    };
    let without = state(&[put(1, 1), put(2, 2), put(3, 3)]);
    between().survive(Loss::Power, &without).unwrap();
    let mut safe = between();
    safe.acknowledge_durable(25);
    assert!(safe.survive(Loss::Power, &without).is_err());
}

#[test]
fn a_reader_may_find_what_goes_on_and_nothing_else() {
    let mut history = history();
    let before = history.begin(&[put(1, 5)]);
    let reader = history.watch();
    let meanwhile = history.begin(&[put(2, 6)]);
    history.end(before, vec![put(1, 5)], End::At(40));
    history.end(meanwhile, vec![put(2, 6)], End::At(50));
    let later = history.begin(&[put(3, 7)]);
    let watch = history.watched(reader).unwrap();
    assert_eq!(watch.state, state(&[put(1, 9), put(2, 2), put(3, 3)]));
    assert_eq!(watch.others.len(), 3);
    assert!(history.watched(reader).is_none() && history.is_alone(later));
    let other = history.begin(&[]);
    assert!(!history.is_alone(later) && !history.is_alone(other));
}

#[test]
fn what_is_too_old_is_not_shown_and_may_be_gone_when_more_is_kept() {
    let at = |now_ns| Clock { earliest_ns: now_ns, latest_ns: now_ns, ..Clock::default() };
    let mut history = history();
    history.set_clock(at(10));
    push(&mut history, 40, &[Change::Keep(0, 8, at(10))]);
    let keep = |keep_ns| Change::Set(Key::Keep(0), Fact::Nanoseconds(keep_ns));
    let kept = state(&[put(2, 2), put(3, 3), keep(8)]);
    history.compare(&kept).unwrap();
    assert!(history.compare(&state(&[put(1, 9), put(2, 2), put(3, 3), keep(8)])).is_err());
    push(&mut history, 50, &[Change::Keep(0, 100, at(10))]);
    history.compare(&state(&[put(2, 2), put(3, 3), keep(100)])).unwrap();
    history.compare(&state(&[put(1, 9), put(2, 2), put(3, 3), keep(100)])).unwrap();
    assert!(history.compare(&state(&[put(1, 1), put(2, 2), put(3, 3), keep(100)])).is_err());
    assert!(history.compare(&state(&[put(3, 3), keep(100)])).is_err());
}

#[test]
fn a_longer_retention_that_is_under_way_may_show_what_was_hidden() {
    let mut history = History::default();
    let clock = Clock { earliest_ns: 100, latest_ns: 100, ..Clock::default() };
    history.set_clock(clock);
    push(&mut history, 10, &[put(50, 1), Change::Keep(0, 10, clock)]);
    let (key, fact) = (Key::Sample(SERIES, 50), Fact::Value(Kind::Integer, 1, vec![]));
    let reader = history.watch();
    let alone = history.watched(reader).unwrap();
    assert!(!alone.admits(&key, Some(&fact)) && alone.admits(&key, None));
    let reader = history.watch();
    history.begin(&[Change::Keep(0, 60, clock)]);
    let watch = history.watched(reader).unwrap();
    assert!(watch.admits(&key, Some(&fact)) && watch.admits(&key, None));
    assert!(!watch.admits(&key, Some(&Fact::Value(Kind::Integer, 2, vec![]))));
}

#[test]
fn what_a_crash_took_perhaps_and_nobody_sees_may_be_there_or_not() {
    let clock = |now_ns| Clock { earliest_ns: now_ns, latest_ns: now_ns, ..Clock::default() };
    let mut history = History::default();
    history.set_clock(clock(100));
    push(&mut history, 10, &[put(50, 1), put(95, 2), Change::Keep(0, 10, clock(100))]);
    history.acknowledge_durable(10);
    let drop = [Change::Unset(Key::Sample(SERIES, 50)), put(49, 3)];
    let number = history.begin(&drop);
    history.end(number, drop.to_vec(), End::After(10));
    let keep = Change::Set(Key::Keep(0), Fact::Nanoseconds(10));
    history.survive(Loss::Power, &state(&[put(95, 2), keep.clone()])).unwrap();
    history.set_clock(clock(55));
    let again = |more: &[Change]| {
        let known = [put(95, 2), keep.clone()];
        history.compare(&state(&[&known[..], more].concat()))
    };
    for possible in [&[][..], &[put(50, 1)], &[put(49, 3)], &[put(49, 3), put(50, 1)]] {
        again(possible).unwrap();
    }
    assert!(again(&[put(50, 3)]).is_err() && again(&[put(48, 1)]).is_err());
}

#[test]
fn what_the_machine_died_in_may_be_seen_in_memory() {
    let mut history = history();
    let dropped = [Change::Unset(Key::Sample(SERIES, 1))];
    let number = history.begin(&dropped);
    history.end(number, dropped.to_vec(), End::After(30));
    let reader = history.watch();
    let watch = history.watched(reader).unwrap();
    assert!(watch.admits(&Key::Sample(SERIES, 1), None));
    assert!(!watch.admits(&Key::Sample(SERIES, 2), None));
    let next = history.begin(&[put(5, 5)]);
    assert!(!history.is_alone(next));
}

#[test]
fn a_delete_takes_what_was_there_and_perhaps_what_came_meanwhile() {
    let mut history = history();
    let cut = history.cuts(&[SERIES], TimeRange::new(2, 9), Clock::default());
    let delete = history.begin(&cut);
    push(&mut history, 40, &[put(2, 7), put(4, 4)]);
    history.end(delete, cut, End::At(50));
    for left in [&[put(1, 9)][..], &[put(1, 9), put(2, 7)], &[put(1, 9), put(2, 7), put(4, 4)]] {
        history.compare(&state(left)).unwrap();
    }
    for wrong in [&[put(1, 9), put(2, 2)][..], &[put(1, 9), put(3, 3)], &[put(4, 4)]] {
        assert!(history.compare(&state(wrong)).is_err());
    }
    push(&mut history, 60, &[put(4, 5)]);
    assert!(history.compare(&state(&[put(1, 9)])).is_err());
}

#[test]
fn a_rule_decides_before_the_namespace_and_old_rules_may_have_taken_away() {
    let rule = |pattern, half_days| Some(Rule { pattern, half_days });
    let now_ns = 100 * HALF_DAY_NS;
    let clock = |in_force, rules: [Option<Rules>; 3]| Clock {
        earliest_ns: now_ns,
        latest_ns: now_ns,
        rules,
        in_force,
        ..Clock::default()
    };
    let state = state(&[Change::Set(Key::Keep(0), Fact::Nanoseconds(HALF_DAY_NS))]);
    let fitting = Series { fits: 0b10, ..SERIES };
    let one = clock(1, [Some([rule(0, 3), rule(1, 2)]), None, None]);
    assert_eq!(one.floors(&state, fitting), (98 * HALF_DAY_NS, 98 * HALF_DAY_NS));
    assert_eq!(one.floors(&state, SERIES), (99 * HALF_DAY_NS, 99 * HALF_DAY_NS));
    let two =
        |in_force| clock(in_force, [Some([rule(1, 2), None]), Some([rule(1, 0), None]), None]);
    assert_eq!(two(0b01).floors(&state, fitting), (98 * HALF_DAY_NS, 98 * HALF_DAY_NS));
    assert_eq!(two(0b10).floors(&state, fitting), (i64::MIN, 98 * HALF_DAY_NS));
    assert_eq!(two(0b11).floors(&state, fitting), (i64::MIN, 98 * HALF_DAY_NS));
    let kept = Clock { default_keep_ns: Some(7), ..clock(0, [None; 3]) };
    assert_eq!(kept.floors(&State::new(), fitting), (now_ns - 7, now_ns - 7));
}

#[test]
fn what_was_seen_at_the_close_is_seen_after_it() {
    let sample = Key::Sample(SERIES, 3);
    let mut history = history();
    let cut = history.cuts(&[SERIES], TimeRange::new(3, 3), Clock::default());
    push(&mut history, 40, &[put(3, 4)]);
    push(&mut history, 50, &cut);
    let with = state(&[put(1, 9), put(2, 2), put(3, 4)]);
    let mut without = with.clone();
    without.remove(&sample);
    history.compare(&with).unwrap();
    history.compare(&without).unwrap();
    history.close(without.clone());
    assert!(history.compare_with_closed(&with).is_err());
    history.close(without.clone());
    history.compare_with_closed(&without).unwrap();
    assert!(history.compare(&with).is_err(), "it was not there");
}

#[test]
fn damage_may_show_less_and_older_but_nothing_else() {
    let history = history();
    assert_eq!(history.admit(&state(&[put(1, 9), put(2, 2), put(3, 3)])), Ok(0));
    assert_eq!(history.admit(&state(&[put(1, 1), put(2, 2)])), Ok(2));
    assert!(history.admit(&state(&[put(1, 3)])).is_err());
    assert!(history.admit(&state(&[put(4, 1)])).is_err());
}

#[test]
fn a_namespace_that_is_gone_hides_what_the_power_left_of_it() {
    let of_second = Series { namespace: 1, fits: 0, number: 7 };
    let value = Fact::Value(Kind::Integer, 1, vec![]);
    let write = Change::Set(Key::Sample(of_second, 1), value);
    let mut history = history();
    push(&mut history, 40, &[Change::Set(Key::Namespace(1), Fact::Number(1))]);
    push(&mut history, 50, &[write]);
    history.acknowledge_durable(50);
    push(&mut history, 60, &[put(8, 8)]);
    let cut = history.cuts(&[of_second], TimeRange::ALL, Clock::default());
    push(&mut history, 70, &cut);
    push(&mut history, 80, &[Change::Unset(Key::Namespace(1))]);
    let found = state(&[put(1, 9), put(2, 2), put(3, 3)]);
    history.survive(Loss::Power, &found).unwrap();
    assert_eq!(history.current(), &found);
}
