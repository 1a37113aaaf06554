//! A short run over many crashes, and proof that the simulator is a pure function of its seed.

use super::*;

/// Enough for some thousand crashes.
const ROUNDS: u64 = 1200;

#[test]
fn nothing_acknowledged_is_lost() {
    let plan = Plan { seed: 1, rounds: ROUNDS, threads: 2, failures: 3, trace: false };
    let (tally, failures) = plan.run();
    assert_eq!(failures, 0, "see the seeds above");
    assert!(tally.power_cuts > 2000 && tally.kills > 500 && tally.closes > 500, "{tally:?}");
    assert!(tally.faults > 500 && tally.flushes > 1000, "{tally:?}");
    assert!(tally.acknowledged > tally.events / 10, "{tally:?}");
}

#[test]
fn a_round_follows_from_its_seed() {
    let steps = |seed| {
        let mut steps = Vec::new();
        let result = round::play(seed, &mut |step| steps.push(step));
        (result, steps)
    };
    for seed in 0..20 {
        assert_eq!(steps(seed), steps(seed), "seed {seed}");
    }
}
