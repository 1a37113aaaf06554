//! The registry against a naive one: a map from canonical names to ids, selection by definition.

use crate::model::{COMMAS, Canonical, Line, SECRET, SPACES, canonical, segment_of, wants, write};
use foliot_index::{Listed, Mark, Registry};
use foliot_model::{DEFAULT_FIELD, KeySyntax, Matcher, Name, Selector, Test};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};
use std::collections::{BTreeMap, BTreeSet};

const FIELDS: [&str; 6] = ["value", "x", "y", "X", "user", "system"];

#[derive(Clone, Debug)]
enum Step {
    /// Lines in a namespace, in the syntax of spaces or of commas.
    Write(u32, bool, Vec<Line>),
    /// As many lines with a wal that fails.
    Fail(Vec<Line>),
    /// Save what is new since the last time, and read it all into a new registry.
    Restart,
}

fn line(hosts: u32) -> impl Strategy<Value = Line> {
    let label = (select(vec!["h", "dc", "a", "Z"]), 0..hosts).prop_map(|(name, number)| {
        let value = match number {
            0 => String::new(),
            1..=3 => ["EU", "eu", "us-1"][number as usize - 1].to_owned(),
            _ => format!("web{number}"),
        };
        (name, value)
    });
    let fields = subsequence(FIELDS.to_vec(), 1..4).prop_shuffle();
    let measurements = select(vec!["cpu", "disk", "sys.cpu", "sys", "cpu.x"]);
    (measurements, vec(label, 0..4), fields).prop_map(|(measurement, labels, fields)| {
        let mut key = measurement.to_owned();
        // Labels are a set: where a name comes twice, the first value stands.
        let mut seen = BTreeSet::new();
        for (name, value) in labels.into_iter().filter(|(name, _)| seen.insert(*name)) {
            key.push_str(&format!(",{name}={value}"));
        }
        Line::new(&key, &fields)
    })
}

fn steps(hosts: u32, lines: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..2u32, any::<bool>(), vec(line(hosts), 1..lines))
            .prop_map(|(namespace, spaces, lines)| Step::Write(namespace, spaces, lines)),
        1 => vec(line(hosts), 1..10).prop_map(Step::Fail),
        1 => Just(Step::Restart),
    ];
    vec(step, 1..6)
}

struct World {
    registry: Registry,
    known: BTreeMap<Canonical, u32>,
    saved: Vec<u8>,
    mark: Mark,
}

impl World {
    fn new() -> Self {
        let (registry, mark) = (Registry::new(9), Mark::default());
        Self { registry, known: BTreeMap::new(), saved: Vec::new(), mark }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Write(namespace, spaces, lines) => self.write(*namespace, *spaces, lines),
            Step::Fail(lines) => {
                // Known rows need no wal; either way nothing new may stay.
                let before = self.registry.mark();
                let _ = write(&self.registry, &COMMAS, 1, lines, u64::MAX, &mut |_| Err(()));
                assert_eq!(self.registry.mark(), before);
            }
            Step::Restart => {
                let (records, mark) = self.registry.checkpoint(&self.mark);
                self.saved.extend(records);
                self.mark = mark;
                self.registry = Registry::new(9);
                self.registry.replay(&self.saved).unwrap();
                assert_eq!(self.registry.mark(), mark);
            }
        }
    }

    fn write(&mut self, namespace: u32, spaces: bool, lines: &[Line]) {
        let (syntax, spelled): (&'static KeySyntax, Vec<Line>) = match spaces {
            false => (&COMMAS, lines.to_vec()),
            true => (&SPACES, lines.iter().map(respell).collect()),
        };
        let replica = Registry::new(9);
        replica.replay(&self.registry.checkpoint(&Mark::default()).0).unwrap();
        // A replica is another store: its locks are not held beside this one's.
        let mut publish = |records: &[u8]| {
            std::thread::scope(|scope| scope.spawn(|| replica.replay(records)).join()).unwrap()
        };
        let written =
            write(&self.registry, syntax, namespace, &spelled, u64::MAX, &mut publish).unwrap();
        assert!(written.rejects.is_empty(), "{:?}", written.rejects);
        let before = self.known.len();
        for (line, sids) in lines.iter().zip(&written.sids) {
            let names = canonical(namespace, line);
            assert_eq!(sids.len(), names.len());
            let fresh = names.iter().all(|name| !self.known.contains_key(name));
            for (name, &sid) in names.into_iter().zip(sids) {
                assert_eq!(*self.known.entry(name).or_insert(sid), sid);
            }
            if fresh {
                assert!(sids.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{sids:?}");
            }
        }
        assert_eq!(written.new_series as usize, self.known.len() - before);
        assert_eq!(replica.mark(), self.registry.mark(), "the wal tells all");
    }

    fn check(&self) {
        let ids: BTreeSet<u32> = self.known.values().copied().collect();
        assert!(ids.into_iter().eq(0..self.known.len() as u32), "ids are dense and distinct");
        let mut sources = BTreeMap::new();
        for ((namespace, measurement, field, labels), &sid) in &self.known {
            let identity = self.registry.identity(sid).unwrap();
            assert_eq!((&*identity.measurement, &*identity.field), (&**measurement, &**field));
            assert_eq!(identity.labels, labels.iter().map(|(n, v)| (&**n, &**v)).collect());
            let description = self.registry.describe(sid).unwrap();
            assert_eq!((description.namespace, description.class), (*namespace, 0));
            assert_eq!(description.source, identity.source);
            let source = sources.entry((namespace, labels)).or_insert(identity.source);
            assert_eq!(*source, identity.source);
        }
    }

    fn wanted(&self, selector: &Selector) -> BTreeMap<u32, &Canonical> {
        let known = self.known.iter().map(|(name, &sid)| (sid, name));
        known.filter(|(sid, name)| wants(selector, *sid, name)).collect()
    }

    fn listed(&self, what: &Listed, selector: &Selector) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (_, measurement, field, labels) in self.wanted(selector).into_values() {
            match what {
                Listed::Measurements => found.extend([measurement.clone()]),
                Listed::Fields => found.extend([field.clone()]),
                Listed::Metrics if field == DEFAULT_FIELD => found.extend([measurement.clone()]),
                Listed::Metrics => found.extend([format!("{measurement}.{field}")]),
                Listed::LabelNames => found.extend(labels.keys().cloned()),
                Listed::LabelValues(None) => found.extend(labels.values().cloned()),
                Listed::LabelValues(Some(name)) => found.extend(labels.get(name).cloned()),
            }
        }
        found
    }
}

/// The same line in the syntax of spaces, labels backwards.
fn respell(line: &Line) -> Line {
    let mut pieces: Vec<String> = line.key.split(',').map(str::to_owned).collect();
    pieces[1..].reverse();
    let pieces: Vec<String> = pieces.iter().map(|piece| piece.replace('=', ":")).collect();
    Line { key: pieces.join(" "), fields: line.fields.clone() }
}

fn test(texts: Vec<&'static str>) -> impl Strategy<Value = Test> {
    let texts = move || select(texts.clone());
    prop_oneof![
        1 => Just(Test::Any),
        4 => vec(texts(), 0..3).prop_map(|l| Test::AnyOf(l.into_iter().map(Into::into).collect())),
        1 => vec(texts(), 1..3)
            .prop_map(|l| Test::AnyOfLower(l.into_iter().map(str::to_lowercase).collect())),
        1 => texts().prop_map(|t| format!("{}*", &t[..t.len().min(2)]))
            .prop_map(|pattern| Test::wildcard(&pattern, true).unwrap()),
        2 => select(vec!["^web", "5$", "^(eu|EU)$", "", "u", "^$", "^cpu"])
            .prop_map(|expression| Test::regex(expression).unwrap()),
    ]
}

fn selector() -> impl Strategy<Value = (Selector, Option<Vec<Index>>)> {
    let values = vec!["", "EU", "eu", "us-1", "web4", "web5", "web9", "web40", "nowhere"];
    let label = || select(vec!["h", "dc", "a", "Z", "none"]);
    let matcher = (label(), test(values), any::<bool>(), any::<bool>()).prop_map(
        |(name, test, negated, accepts_absent)| {
            let name = name.to_owned();
            Matcher { name, test, negated, accepts_absent }
        },
    );
    let name = (test(vec!["cpu", "disk", "sys", "sys.cpu", "mem"]), test(FIELDS.to_vec()))
        .prop_map(|(measurement, field)| Name { measurement, field });
    let exact = option::weighted(0.2, vec(label().prop_map(str::to_owned), 0..3));
    let only = option::weighted(0.2, vec(any::<Index>(), 0..20));
    (0..3u32, vec(name, 0..3), vec(matcher, 0..4), exact, only).prop_map(
        |(namespace, names, matchers, exact_labels, only)| {
            (Selector { namespace, names, matchers, exact_labels, only: None }, only)
        },
    )
}

fn listed() -> impl Strategy<Value = (Listed, &'static str, usize, usize)> {
    let what = prop_oneof![
        Just(Listed::Measurements),
        Just(Listed::Fields),
        Just(Listed::Metrics),
        Just(Listed::LabelNames),
        Just(Listed::LabelValues(None)),
        select(vec!["h", "dc", "none"]).prop_map(|n| Listed::LabelValues(Some(n.to_owned()))),
    ];
    (what, select(vec!["", "", "s", "web", "cpu."]), 0..4usize, 0..30usize)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn registers_like_a_map_and_selects_by_definition(
        steps in steps(12, 60),
        selectors in vec(selector(), 12),
        listings in vec((listed(), selector()), 12),
    ) {
        let mut world = World::new();
        steps.iter().for_each(|step| world.step(step));
        world.check();
        compare(&world, selectors, listings);
    }

    /// Many sources and few wanted ones, so that every way of joining is taken.
    #[test]
    fn selects_by_definition_among_many(
        lines in vec(line(60), 300..600),
        selectors in vec(selector(), 24),
        listings in vec((listed(), selector()), 24),
    ) {
        let mut world = World::new();
        world.step(&Step::Write(0, false, lines));
        world.check();
        compare(&world, selectors, listings);
    }
}

type Listing = ((Listed, &'static str, usize, usize), (Selector, Option<Vec<Index>>));

fn compare(world: &World, selectors: Vec<(Selector, Option<Vec<Index>>)>, listings: Vec<Listing>) {
    let len = world.known.len();
    let with_only = |(mut selector, only): (Selector, Option<Vec<Index>>)| {
        selector.only = only.map(|only| only.iter().map(|at| at.index(len + 2) as u32).collect());
        selector
    };
    let segment = segment_of(&world.registry);
    let all: Vec<u32> = world.known.values().copied().collect();
    let mut spelled = 0;
    segment
        .identities(&all, &mut |sid, identity| {
            assert_eq!(Some(identity), world.registry.identity(sid));
            assert_eq!(segment.describe(sid).unwrap().unwrap().class, 0);
            spelled += 1;
        })
        .unwrap();
    assert_eq!(spelled, all.len());
    assert_eq!(segment.keys(&all).unwrap(), world.registry.keys(&all, SECRET));
    for selector in selectors.into_iter().map(with_only) {
        let found = world.registry.select(&selector);
        assert!(found.iter().eq(world.wanted(&selector).keys()), "{selector:?}: {found:?}");
        assert_eq!(segment.select(&selector).unwrap(), found, "{selector:?}");
    }
    for ((what, prefix, offset, limit), selector) in listings {
        let selector = with_only(selector);
        let found = world.registry.list(&what, &selector, prefix, offset, limit);
        let expected = world.listed(&what, &selector).into_iter();
        let expected: Vec<String> =
            expected.filter(|name| name.starts_with(prefix)).skip(offset).take(limit).collect();
        assert_eq!(found, expected, "{what:?} of {selector:?} from {prefix:?}");
        let all_live = |_| true;
        for living in [None, Some(&all_live as &dyn Fn(u32) -> bool)] {
            let found = segment.list(&what, &selector, prefix, offset + limit, living).unwrap();
            assert!(found.iter().skip(offset).eq(&expected), "{what:?} of {selector:?}: {found:?}");
        }
    }
}
