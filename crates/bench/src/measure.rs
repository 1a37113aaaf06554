//! Measures one load: what the server's process, its disk and the machine did before, during and
//! after.

use std::io;
use std::time::{Duration, Instant};

use crate::drive;
use crate::http::{self, Client};
use crate::load::{Load, Outcome};
use crate::mix;
use crate::result::{LoadResult, Observed};
use crate::server::{MachineTime, Watched};

/// Runs a load and waits until the server is quiet.
pub(crate) fn measure(
    load: &Load<'_>,
    watched: &Watched,
    settle_max: Duration,
) -> io::Result<(LoadResult, Outcome)> {
    http::reach(&load.address)?;
    watched.begin_cell();
    let (before, disk_before) = (watched.reading(), watched.disk_use());
    let machine = MachineTime::take();
    let mut outcome = drive::run(load, watched)?;
    let machine_busy = machine.zip(MachineTime::take()).and_then(|(from, to)| to.busy_since(from));
    let loaded = watched.reading();
    let begin = Instant::now();
    for (method, path) in load.target.adapter.flush {
        // Older servers lack these requests; the figures are then simply not settled as far.
        let _ = Client::new(&load.address).send(method, path, "", b"");
    }
    let settled = watched.settle(settle_max);
    let settle_s = begin.elapsed().as_secs_f64();
    // What a server that is still at work holds on its disk says nothing about what it will hold.
    let is_quiet = settled.is_some_and(|(_, is_quiet)| is_quiet);
    let disk = if is_quiet { watched.disk_use() } else { None };
    let settled = settled.map(|(reading, _)| reading);
    let observed = Observed { before, loaded, settled, settle_s, disk_before, disk, machine_busy };
    let mut result = LoadResult::new(load, &outcome, &observed);
    result.reads = mix::results(load, &mut outcome);
    Ok((result, outcome))
}
