//! The answer to a claim in a sentence: Foliot beside each server that gives the same durability.

use super::told::{Found, NOT_MEASURED, OWN, Told};

/// How Foliot stands to the server that it is worst beside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Nothing of Foliot, or nothing beside it at the same durability, was measured.
    Open(String),
    /// How many times better than the worst case's server, below 1 when it is behind; `apart` says
    /// whether no run of one lies among the runs of the other.
    Beside { times: f64, server: String, ack: String, apart: bool },
}

impl Answer {
    pub(crate) fn of(told: &Told, less: bool) -> Answer {
        let is_own = |found: &&Found| found.server == OWN;
        let own: Vec<&Found> = told.found.iter().filter(is_own).collect();
        if own.is_empty() {
            return Answer::Open(format!("{NOT_MEASURED}: {}", told.why_not(OWN)));
        }
        let pairs = own.iter().flat_map(|own| {
            let others = told.found.iter().filter(|other| !is_own(other) && other.ack == own.ack);
            others.map(move |other| (*own, other))
        });
        let beside = pairs.filter_map(|(own, other)| {
            let (ours, theirs) = (own.value.median, other.value.median);
            let times = if less { theirs / ours } else { ours / theirs };
            let apart = own.value.most < other.value.least || other.value.most < own.value.least;
            let (server, ack) = (other.server.clone(), other.ack.clone());
            times.is_finite().then_some(Answer::Beside { times, server, ack, apart })
        });
        let worst = beside.min_by(|a, b| a.rank().total_cmp(&b.rank()));
        let alone = || format!("{NOT_MEASURED}: no other server of the same durability");
        worst.unwrap_or_else(|| Answer::Open(alone()))
    }

    /// The place among other answers: losses first, the greatest at the top, then what the runs do
    /// not tell apart, open ones last.
    pub(crate) fn rank(&self) -> f64 {
        match self {
            Answer::Open(_) => f64::INFINITY,
            Answer::Beside { apart: false, .. } => 1.0,
            Answer::Beside { times, .. } => *times,
        }
    }

    pub(crate) fn sentence(&self) -> String {
        match self {
            Answer::Open(why) => why.clone(),
            Answer::Beside { server, ack, apart: false, .. } => {
                format!("Beside {server} ({ack}) no difference that the runs show.")
            }
            Answer::Beside { times, server, ack, .. } if *times < 1.0 => {
                format!("Foliot is behind {server} ({ack}) by {:.2} times.", times.recip())
            }
            Answer::Beside { times, server, ack, .. } => format!(
                "Foliot is ahead of every other, least of {server} ({ack}): {times:.2} times."
            ),
        }
    }

    /// What all answers of a document come to.
    pub(crate) fn summary(answers: &[&Answer]) -> String {
        let count = |of: fn(&Answer) -> bool| answers.iter().filter(|answer| of(answer)).count();
        let open = count(|answer| matches!(answer, Answer::Open(_)));
        let even = count(|answer| matches!(answer, Answer::Beside { apart: false, .. }));
        let behind = count(|answer| match answer {
            Answer::Beside { times, apart, .. } => *apart && *times < 1.0,
            Answer::Open(_) => false,
        });
        let ahead = answers.len() - open - even - behind;
        match open == answers.len() {
            true => {
                "Nothing of this document was measured validly here, so nothing is said.".into()
            }
            false => format!(
                "Of {} figures Foliot is behind in {behind}, ahead in {ahead}, even in {even}; \
                 {open} were not measured.",
                answers.len()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Measurement;

    fn found(server: &str, ack: &str, text: &str) -> Found {
        let value = Measurement::read(text).unwrap();
        Found { server: server.into(), ack: ack.into(), value }
    }

    fn of(found: &[Found], less: bool) -> Answer {
        Answer::of(&Told { found: found.to_vec(), ..Told::default() }, less)
    }

    #[test]
    fn the_worst_of_equal_durability_is_told_and_no_other() {
        let all = [
            found("foliot", "os", "100 (90 to 110)"),
            found("foliot", "durable", "50 (48 to 52)"),
            found("influx", "durable", "20 (19 to 21)"),
            found("ticktock", "memory", "900 (890 to 910)"),
            found("victoriametrics", "os", "200 (190 to 210)"),
        ];
        let more = of(&all, false);
        assert_eq!(more.sentence(), "Foliot is behind victoriametrics (os) by 2.00 times.");
        let less = of(&all, true);
        assert_eq!(less.sentence(), "Foliot is behind influx (durable) by 2.50 times.");
        let only = of(&all[1..4], false);
        assert!(only.sentence().contains("ahead of every other, least of influx"));
        assert!(more.rank() < only.rank());
        assert!(only.rank() < of(&all[2..], false).rank());
        assert!(matches!(of(&[all[0].clone(), all[3].clone()], false), Answer::Open(_)));
    }

    #[test]
    fn what_the_runs_do_not_tell_apart_is_no_difference() {
        let all =
            [found("foliot", "os", "100 (80 to 120)"), found("influx", "os", "110 (90 to 130)")];
        assert!(of(&all, false).sentence().contains("no difference"));
        // It hides no loss that they do tell.
        let more = [&all[..], &[found("ticktock", "os", "125 (122 to 128)")]].concat();
        assert_eq!(of(&more, false).sentence(), "Foliot is behind ticktock (os) by 1.25 times.");
    }
}
