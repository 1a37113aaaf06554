//! Fleets for tests.

use crate::fleet::{Fleet, Shape};
use crate::profile::Profile;

/// A fleet of the profile with its usual interval, seed 123.
pub(crate) fn fleet(profile: Profile, sources: u64) -> Fleet {
    Fleet::new(Shape {
        profile,
        seed: 123,
        sources,
        fields: profile.fields(),
        start_ms: 1_767_225_600_000,
        interval_ms: profile.interval_ms(),
    })
}

/// A TSBS cpu-only fleet.
pub(crate) fn cpu_fleet(sources: u64) -> Fleet {
    fleet(Profile::tsbs_cpu(), sources)
}
