//! Measures one load: what the server's process, its disk and the machine did before, during and
//! after.

use std::io;
use std::time::{Duration, Instant};

use crate::adapter::Adapter;
use crate::drive;
use crate::http::{self, Client};
use crate::load::{Load, Outcome};
use crate::mix;
use crate::result::{LoadResult, Observed};
use crate::server::{MachineTime, Reading, Watched};

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
    let settled = flush_and_settle(load.target.adapter, &load.address, watched, settle_max);
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

/// Asks a server to write down what it holds and waits until it is quiet, `most` at the longest;
/// returns the last reading, and whether it was quiet by then.
pub(crate) fn flush_and_settle(
    adapter: &Adapter,
    address: &str,
    watched: &Watched,
    most: Duration,
) -> Option<(Reading, bool)> {
    for (method, path) in adapter.flush {
        // Older servers lack these requests; the figures are then simply not settled as far.
        let _ = Client::new(address).send(method, path, "", b"");
    }
    watched.settle(most)
}
