//! Time: what the store may take for the time of day on a machine whose clock jumps.
//!
//! The store is free to disbelieve a clock, and says when it must believe one
//! (`engine/src/clock.rs`): this keeps the widest bounds of that, from the jumps alone.

use crate::oracle::{Clock, Rules};

/// Sets of rules in one round.
const RULES_MAX: usize = 3;
const SECOND_NS: i64 = 1_000_000_000;
/// A clock that is this much ahead is always believed.
const DRIFT_NS: i64 = 60 * SECOND_NS;
/// One that is further ahead may be believed after it has been there so long.
const SETTLE_NS: i64 = 3600 * SECOND_NS;
/// Readers are shown samples by a clock that is this far ahead.
const BELIEVED_NS: i64 = 86_400 * SECOND_NS;
/// The clock shows no time before or behind these.
const FIRST_NS: i64 = 0;
const LAST_NS: i64 = 9_150_000_000 * SECOND_NS;

/// The clock of a machine, as the round made it.
#[derive(Clone)]
pub(crate) struct Time {
    /// How far it is ahead of one that never jumped.
    jumped_ns: i64,
    /// How far ahead the store may have come to believe it.
    believed_ns: i64,
    /// Since when, by a clock that never jumped, it was further ahead than that.
    ahead_since_ns: Option<i64>,
    lowest_ns: i64,
    gone_ns: i64,
    /// Rules that are or were in force, which of them are, and which were told last.
    rules: Vec<Rules>,
    in_force: u8,
    told: usize,
    /// All that `in_force` ever was.
    forces: Vec<u8>,
    /// How long namespaces keep samples that were told nothing else.
    default_keep_ns: Option<i64>,
    is_capped: bool,
    /// What was so right before and after each jump.
    jumps: Vec<Clock>,
}

/// The beginning of something that takes time.
pub(crate) struct Mark {
    jumps: usize,
    forces: usize,
    clock: Clock,
}

impl Time {
    pub(crate) fn new(now_ns: i64, default_keep_ns: Option<i64>, is_capped: bool) -> Self {
        Self {
            jumped_ns: 0,
            believed_ns: 0,
            ahead_since_ns: None,
            lowest_ns: now_ns,
            gone_ns: now_ns,
            rules: Vec::new(),
            in_force: 0,
            told: 0,
            forces: Vec::new(),
            default_keep_ns,
            is_capped,
            jumps: Vec::new(),
        }
    }

    /// What may be so when the clock shows `now_ns`.
    pub(crate) fn look(&mut self, now_ns: i64) -> Clock {
        let honest_ns = now_ns.saturating_sub(self.jumped_ns);
        let by_ns = self.jumped_ns.saturating_sub(self.believed_ns);
        if by_ns <= 0 {
            self.ahead_since_ns = None;
        } else {
            let since_ns = *self.ahead_since_ns.get_or_insert(honest_ns);
            if by_ns <= DRIFT_NS || honest_ns.saturating_sub(since_ns) >= SETTLE_NS {
                self.believed_ns = self.jumped_ns;
            }
        }
        self.lowest_ns = self.lowest_ns.min(now_ns);
        let known_ns = honest_ns.saturating_add(self.believed_ns);
        self.gone_ns = self.gone_ns.max(now_ns.min(known_ns));
        let surely = now_ns.saturating_sub(self.lowest_ns) <= BELIEVED_NS;
        let possibly = now_ns.saturating_sub(known_ns) <= BELIEVED_NS;
        let mut rules = [None; RULES_MAX];
        rules.iter_mut().zip(&self.rules).for_each(|(place, rules)| *place = Some(*rules));
        Clock {
            earliest_ns: if surely { now_ns } else { self.lowest_ns },
            latest_ns: if possibly { now_ns } else { known_ns },
            gone_ns: self.gone_ns,
            rules,
            in_force: self.in_force,
            default_keep_ns: self.default_keep_ns,
            is_capped: self.is_capped,
        }
    }

    /// How far the clock may be set forward or back, of `ns`; and that it is so set now.
    pub(crate) fn jump(&mut self, now_ns: i64, ns: i64) -> i64 {
        let after_ns = now_ns.saturating_add(ns).clamp(FIRST_NS, LAST_NS);
        let ns = after_ns.saturating_sub(now_ns);
        let before = self.look(now_ns);
        self.jumped_ns = self.jumped_ns.saturating_add(ns);
        let after = self.look(after_ns);
        self.jumps.extend([before, after]);
        ns
    }

    /// A store was opened that keeps no time of day: it believes the clock.
    pub(crate) fn believe(&mut self) {
        self.believed_ns = self.believed_ns.max(self.jumped_ns);
    }

    /// Whether the clock is further ahead than a store has reason to believe.
    pub(crate) fn is_ahead(&self) -> bool {
        self.jumped_ns > self.believed_ns
    }

    /// The store is told other rules; false when the round had enough of them. `is_new` says that
    /// there is no store yet. Until [`Time::settle_rules`] those before are in force as well.
    pub(crate) fn set_rules(&mut self, rules: Rules, is_new: bool) -> bool {
        if self.rules.is_empty() && !is_new {
            self.rules.push(Rules::default());
            self.in_force = 1;
            self.forces.push(self.in_force);
        }
        let known = self.rules.iter().position(|known| *known == rules);
        let at = known.unwrap_or(self.rules.len());
        if at >= RULES_MAX {
            return false;
        }
        if known.is_none() {
            self.rules.push(rules);
        }
        self.told = at;
        self.in_force |= 1 << at;
        self.forces.push(self.in_force);
        true
    }

    /// The rules told last are in force, and no others.
    pub(crate) fn settle_rules(&mut self) {
        if !self.rules.is_empty() {
            self.in_force = 1 << self.told;
            self.forces.push(self.in_force);
        }
    }

    /// The rules told last.
    pub(crate) fn rules(&self) -> Rules {
        self.rules.get(self.told).copied().unwrap_or_default()
    }

    /// All rules that are or were in force.
    pub(crate) fn known_rules(&self) -> &[Rules] {
        &self.rules
    }

    pub(crate) fn mark(&mut self, now_ns: i64) -> Mark {
        Mark { jumps: self.jumps.len(), forces: self.forces.len(), clock: self.look(now_ns) }
    }

    /// What may have been so at some time since then.
    pub(crate) fn since(&mut self, mark: &Mark, now_ns: i64) -> Clock {
        let jumps = self.jumps.iter().skip(mark.jumps);
        let before = jumps.fold(mark.clock, |all, jump| all.or(*jump));
        let mut all = before.or(self.look(now_ns));
        all.in_force =
            self.forces.iter().skip(mark.forces).fold(all.in_force, |all, own| all | own);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_NS: i64 = 3600 * SECOND_NS;
    const YEAR_NS: i64 = 365 * 24 * HOUR_NS;
    const BIRTH_NS: i64 = 50 * YEAR_NS;

    #[test]
    fn a_large_jump_counts_after_an_hour() {
        let mut time = Time::new(BIRTH_NS, None, false);
        let mark = time.mark(BIRTH_NS);
        assert_eq!(time.jump(BIRTH_NS, 10 * YEAR_NS), 10 * YEAR_NS);
        let now_ns = BIRTH_NS + 10 * YEAR_NS;
        let clock = time.look(now_ns);
        assert_eq!((clock.earliest_ns, clock.latest_ns), (BIRTH_NS, BIRTH_NS));
        assert_eq!(clock.gone_ns, BIRTH_NS);
        assert!(time.is_ahead());
        let clock = time.since(&mark, now_ns + HOUR_NS);
        assert_eq!((clock.earliest_ns, clock.latest_ns), (BIRTH_NS, now_ns + HOUR_NS));
        assert_eq!(clock.gone_ns, now_ns + HOUR_NS);
    }

    #[test]
    fn a_jump_back_shows_more_and_gives_nothing_back() {
        let mut time = Time::new(BIRTH_NS, None, false);
        time.jump(BIRTH_NS, -HOUR_NS);
        let clock = time.look(BIRTH_NS - HOUR_NS);
        assert_eq!((clock.earliest_ns, clock.latest_ns), (BIRTH_NS - HOUR_NS, BIRTH_NS - HOUR_NS));
        assert_eq!(clock.gone_ns, BIRTH_NS);
        assert_eq!(time.jump(BIRTH_NS, i64::MIN), FIRST_NS - BIRTH_NS, "no time before the first");
    }

    #[test]
    fn rules_give_way_when_the_store_is_done() {
        let rule = Some(crate::oracle::Rule { pattern: 1, half_days: 3 });
        let mut time = Time::new(BIRTH_NS, None, false);
        assert!(time.set_rules([rule, None], false));
        assert_eq!((time.look(BIRTH_NS).in_force, time.rules()), (0b11, [rule, None]));
        time.settle_rules();
        assert_eq!(time.look(BIRTH_NS).in_force, 0b10);
        assert!(time.set_rules(Rules::default(), false), "as it was before");
        time.settle_rules();
        assert_eq!((time.look(BIRTH_NS).in_force, time.known_rules().len()), (0b01, 2));
        assert!(time.set_rules([None, rule], false));
        assert!(!time.set_rules([rule, rule], false), "a fourth set");
    }

    #[test]
    fn who_was_under_way_while_rules_changed_may_have_met_all_of_them() {
        let rule = |half_days| Some(crate::oracle::Rule { pattern: 1, half_days });
        let mut time = Time::new(BIRTH_NS, None, false);
        let mark = time.mark(BIRTH_NS);
        for rules in [[rule(3), None], [rule(5), None]] {
            assert!(time.set_rules(rules, false));
            time.settle_rules();
        }
        assert_eq!(time.since(&mark, BIRTH_NS).in_force, 0b111);
        let mark = time.mark(BIRTH_NS);
        assert_eq!(time.since(&mark, BIRTH_NS).in_force, 0b100);
    }

    #[test]
    fn a_jump_and_back_is_remembered_by_who_was_under_way() {
        let mut time = Time::new(BIRTH_NS, None, false);
        let mark = time.mark(BIRTH_NS);
        time.jump(BIRTH_NS, 20 * HOUR_NS);
        time.jump(BIRTH_NS + 20 * HOUR_NS, -20 * HOUR_NS);
        assert_eq!(time.since(&mark, BIRTH_NS).latest_ns, BIRTH_NS + 20 * HOUR_NS);
        assert_eq!(time.look(BIRTH_NS).latest_ns, BIRTH_NS);
    }
}
