//! What the clock and the rules say of how long samples are kept.

use super::state::{Fact, Key, Series, State};

/// Nanoseconds of half a day, in which the workload counts how long samples are kept.
pub(crate) const HALF_DAY_NS: i64 = 43_200_000_000_000;

/// A rule of retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Which series it fits, by its number in the workload.
    pub(crate) pattern: u8,
    /// How long those are kept; 0 for ever.
    pub(crate) half_days: u8,
}

/// Rules in the order in which they are asked.
pub(crate) type Rules = [Option<Rule>; 2];

/// What the store may take for the time of day, and what it does with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Readers are shown samples by something between these two.
    pub(crate) earliest_ns: i64,
    pub(crate) latest_ns: i64,
    /// Files may have lost samples by a time as late as this.
    pub(crate) gone_ns: i64,
    /// Rules in force now or before: those before may have taken samples away.
    pub(crate) rules: [Option<Rules>; 3],
    /// Which of them are in force, a bit for each: two while one takes the place of the other.
    pub(crate) in_force: u8,
    /// How long namespaces keep samples that were told nothing else.
    pub(crate) default_keep_ns: Option<i64>,
    /// Whether the oldest samples may go because all take too many bytes.
    pub(crate) is_capped: bool,
}

impl Clock {
    /// What is so at one of two instants.
    pub(crate) fn or(self, later: Self) -> Self {
        Self {
            earliest_ns: self.earliest_ns.min(later.earliest_ns),
            latest_ns: self.latest_ns.max(later.latest_ns),
            gone_ns: self.gone_ns.max(later.gone_ns),
            in_force: self.in_force | later.in_force,
            ..later
        }
    }

    /// Before the first of these instants a series surely shows no samples; from the second one on
    /// it shows all.
    pub(crate) fn floors(&self, state: &State, series: Series) -> (i64, i64) {
        let latest_ns = self.latest_ns.max(self.gone_ns);
        let floor = |rules: &Rules, now_ns: i64| {
            let keep_ns = self.keep_ns(rules, state, series);
            keep_ns.map_or(i64::MIN, |keep_ns| now_ns.saturating_sub(keep_ns))
        };
        let known = self.rules.iter().enumerate();
        let known = known.filter_map(|(at, rules)| rules.as_ref().map(|rules| (at, rules)));
        let in_force = known.clone().filter(|(at, _)| self.in_force & (1 << at) != 0);
        let surely_ns = in_force.map(|(_, rules)| floor(rules, self.earliest_ns)).min();
        let possibly_ns = known.map(|(_, rules)| floor(rules, latest_ns)).max();
        let none = Rules::default();
        (
            surely_ns.unwrap_or_else(|| floor(&none, self.earliest_ns)),
            possibly_ns.unwrap_or_else(|| floor(&none, latest_ns)),
        )
    }

    /// How long a series is kept under such rules; nothing is for ever.
    fn keep_ns(&self, rules: &Rules, state: &State, series: Series) -> Option<i64> {
        let fits = |rule: &&Rule| series.fits & (1 << rule.pattern) != 0;
        match rules.iter().flatten().find(fits) {
            Some(rule) => Some(i64::from(rule.half_days) * HALF_DAY_NS).filter(|keep| *keep > 0),
            None => match state.get(&Key::Keep(series.namespace)) {
                Some(Fact::Nanoseconds(keep_ns)) => Some(*keep_ns),
                _ => self.default_keep_ns,
            },
        }
    }
}
