//! What the servers of an experiment may have, and the table that says what came of it.

use crate::caps::{Allowance, Caps};
use crate::report::Table;
use crate::site::Site;

/// Holds every server to the allowance until the caps are dropped.
pub(super) fn apply(sites: &[Site], allowance: Allowance) -> (Vec<Caps>, Table) {
    let columns = ["cores", "memory", "disk, reading and writing each"];
    let mut table = Table::new("Limits on the servers", &["server"], &columns);
    let mut held = Vec::new();
    for site in sites {
        let caps = Caps::apply(&site.watched, allowance);
        let said = [&caps.cores, &caps.memory, &caps.disk].map(String::clone);
        table.row([site.name.clone()].into_iter().chain(said).collect());
        held.push(caps);
    }
    (held, table)
}
