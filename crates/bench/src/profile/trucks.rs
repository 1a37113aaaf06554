//! What questions about trucks know of their world, `worlds/tsbs-iot.toml`.

/// Values of the label `fleet`.
pub(crate) const FLEETS: [&str; 4] = ["East", "West", "North", "South"];

/// Values of the label `load_capacity`.
pub(crate) const CAPACITIES: [u64; 3] = [2000, 5000, 1500];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use std::collections::BTreeSet;

    #[test]
    fn the_world_says_the_same() {
        let (mut fleets, mut capacities) = (BTreeSet::new(), BTreeSet::new());
        for source in 0..500 {
            let mut labels = Vec::new();
            Profile::tsbs_iot().labels(1, 500, source, 0, 0, &mut labels);
            let value = |key| labels.iter().find(|label| label.key == key).unwrap().value;
            fleets.insert(value("fleet").to_string());
            capacities.insert(value("load_capacity").to_string());
        }
        assert_eq!(fleets, FLEETS.map(str::to_owned).into());
        assert_eq!(capacities, CAPACITIES.map(|capacity| capacity.to_string()).into());
    }
}
