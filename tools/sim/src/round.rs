//! One round: a machine, a store, and several lives that each end in some way.
//!
//! 1. Plan what will go wrong in this life, and open the store; recovery may be interrupted too.
//! 2. Look: what is found must be what the acknowledgements allow.
//! 3. Some clients at once write, delete, wait, flush, read, until the machine dies or they are
//!    done; then look again, and so on with other clients.
//! 4. End it: close, kill the process or cut the power; begin again.
//!
//! The last life meets no faults, so that nothing stays unexamined.

mod change;
mod client;
mod fates;
mod moves;
mod theme;
mod trial;
mod work;

use crate::look;
use crate::oracle::{History, Loss, Rule, Rules};
use crate::random::Random;
use crate::tally::Tally;
use crate::workload::{Names, PATTERNS, Pool};
use crate::world::{Machine, Mount, Threads, lock};
use client::Client;
use foliot_disk::{Disk, FaultKind, SimDisk};
use foliot_engine::{Config, Engine, RetentionRule};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use theme::Theme;

const DIR: &str = "store";
/// How often the round looks whether its clients are done.
const LOOK_PAUSE: Duration = Duration::from_millis(20);
/// After so many of those looks a disk that is full has space again.
const LOOKS_UNTIL_HEALED: u32 = 1000;
/// A restart after a fault that passes may meet another one, but not for ever.
const OPEN_ATTEMPTS: usize = 50;
/// After the space is back, this many writes may still be refused.
const RESUME_ATTEMPTS: usize = 5;

/// Receives each step.
pub(crate) type Trace = Box<dyn FnMut(String) + Send>;

/// Plays the round of `seed`, calling `trace`, if any, with each step.
///
/// # Errors
/// What the store broke, for a person.
pub(crate) fn play(seed: u64, mount: Mount, trace: Option<Trace>) -> Result<Tally, String> {
    let mut random = Random::new(seed);
    let seed_of_machine = random.next();
    let theme = Theme::draw(&mut random);
    let config = theme.config(draw_config(&mut random));
    let is_capped = config.retention_bytes_max < u64::MAX;
    let default_keep = config.retention;
    let default_keep_ns = default_keep.map(|keep| keep.as_nanos() as i64);
    let machine = Machine::new(seed_of_machine, mount, default_keep_ns, is_capped);
    theme.bound(&machine.disk(), &mut random);
    let round = Arc::new(Round {
        theme,
        config,
        has_rules: random.percent(30),
        is_changing_rules: AtomicBool::new(false),
        pool: theme.pool(&mut random),
        claimed: Mutex::default(),
        dropped: Mutex::default(),
        trials: AtomicU64::new(0),
        old_manifest: Mutex::default(),
        weights: theme.weights(&mut random),
        clients: theme.clients(&mut random),
        clock_ns: AtomicI64::new(machine.disk().now_ns()),
        backups: AtomicU64::new(0),
        machine: machine.clone(),
        random: Mutex::new(random),
        names: Names { default_keep, ..Names::default() },
        history: Mutex::default(),
        planned: Mutex::default(),
        has_no_room: AtomicBool::new(false),
        tally: Mutex::new(Tally { rounds: 1, ..Tally::default() }),
        trace: Mutex::new(trace),
    });
    let main = {
        let round = round.clone();
        move || round.lives()
    };
    foliot_scheduler::run(Box::new(Threads(machine.clone())), Box::new(main))
        .map_err(|failure| failure.to_string())?;
    let mut tally = lock(&round.tally).clone();
    tally.points.clone_from(&lock(&machine.points));
    Ok(tally)
}

fn draw_config(random: &mut Random) -> Config {
    Config {
        background: random.percent(70),
        // Seldom too small for a page: every read goes to a file then, and looks take most of a
        // round.
        cache_bytes_max: 1 << (36 - random.skewed(12, 24)),
        head_bytes_max: 1 << random.skewed(14, 28),
        merge_parts: random.skewed(2, 8),
        delete_deadline: Duration::from_millis(random.skewed(1, 100_000) as u64),
        // No multiple of half a day: so it is told from what a client said.
        retention: random
            .percent(8)
            .then(|| Duration::from_secs(random.skewed(1, 40) as u64 * 43_200 + 1)),
        wal_segment_bytes: 1 << if random.percent(50) { 26 } else { random.skewed(8, 20) },
        wal_spare_bytes: if random.percent(75) { 1 << random.skewed(10, 28) } else { 0 },
        retention_bytes_max: match random.percent(6) {
            true => 1 << random.skewed(13, 18),
            false => u64::MAX,
        },
        ..Config::default()
    }
}

fn draw_rules(random: &mut Random) -> Rules {
    let mut rule = || {
        let pattern = random.below(PATTERNS.len()) as u8;
        let half_days = if random.percent(25) { 0 } else { random.skewed(1, 40) as u8 };
        random.percent(70).then_some(Rule { pattern, half_days })
    };
    [rule(), rule()]
}

/// Rules as the store is told them.
fn retention_rules(rules: Rules) -> Vec<RetentionRule> {
    let told = |rule: Rule| {
        let (measurement, labels) = PATTERNS[usize::from(rule.pattern)];
        let labels = labels.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let seconds = u64::from(rule.half_days) * 43_200;
        RetentionRule {
            measurement: measurement.to_owned(),
            labels: labels.collect(),
            keep: (seconds > 0).then(|| Duration::from_secs(seconds)),
        }
    };
    rules.into_iter().flatten().map(told).collect()
}

/// What all threads of a round share. Its locks are held for single steps, never while another
/// thread goes on.
struct Round {
    theme: Theme,
    config: Config,
    /// Whether rules of retention come and go.
    has_rules: bool,
    is_changing_rules: AtomicBool,
    pool: Pool,
    /// Namespaces that a client has for itself.
    claimed: Mutex<BTreeSet<usize>>,
    /// Numbers of namespaces that were dropped for good.
    dropped: Mutex<BTreeSet<u32>>,
    /// Trials of damage, each in a directory of its own.
    trials: AtomicU64,
    /// The manifest as it was some time ago.
    old_manifest: Mutex<Option<Vec<u8>>>,
    weights: Vec<(client::Action, usize)>,
    /// How many clients go on at once.
    clients: usize,
    /// About when the next write is sent.
    clock_ns: AtomicI64,
    /// Backups begun, each in a directory of its own.
    backups: AtomicU64,
    machine: Arc<Machine>,
    random: Mutex<Random>,
    names: Names,
    history: Mutex<History>,
    /// What was planned to go wrong in this life.
    planned: Mutex<Vec<FaultKind>>,
    /// Whether something that was planned has left a disk on which a flush has no room, in this
    /// life or one before.
    has_no_room: AtomicBool,
    tally: Mutex<Tally>,
    trace: Mutex<Option<Trace>>,
}

/// How a machine ended.
struct MachineEnd {
    /// The one that comes after it.
    next: SimDisk,
    /// Others that could have come after it.
    others: Vec<SimDisk>,
    loss: Loss,
}

/// A failed round, told by a panic: so that it ends all threads at once.
fn fail(text: String) -> ! {
    std::panic::resume_unwind(Box::new(text))
}

impl Round {
    fn say(&self, text: fmt::Arguments<'_>) {
        if let Some(trace) = &mut *lock(&self.trace) {
            let (name, number) = foliot_scheduler::current().unwrap_or_default();
            let operations = self.machine.disk().operations();
            trace(format!("[op {operations} {name} {number}] {text}"));
        }
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut lock(&self.random))
    }

    fn percent(&self, percent: usize) -> bool {
        self.draw(|random| random.percent(percent))
    }

    fn tally(&self, count: impl FnOnce(&mut Tally)) {
        count(&mut lock(&self.tally));
    }

    fn is_dead(&self) -> bool {
        self.machine.disk().is_dead()
    }

    fn strikes(&self) -> u64 {
        self.machine.disk().strikes()
    }

    fn lives(self: &Arc<Self>) {
        let mut loss = Loss::None;
        if self.has_rules && self.percent(30) {
            let rules = self.draw(draw_rules);
            self.machine.with_time(|time| time.set_rules(rules, true));
        }
        for _ in 0..self.draw(|random| random.skewed(1, 10)) {
            loss = self.live(loss, false);
        }
        loss = self.live(loss, true);
        // What the last life left says the same again.
        if let Some(engine) = self.machine.about("open", || self.open(loss)) {
            self.look(&engine, loss);
        }
    }

    /// One life after `loss`; what it ended with.
    fn live(self: &Arc<Self>, loss: Loss, is_last: bool) -> Loss {
        lock(&self.planned).clear();
        if !is_last {
            self.plan_faults();
        }
        lock(&self.claimed).clear();
        if self.has_rules && self.percent(30) {
            let rules = self.draw_rules();
            self.machine.with_time(|time| time.set_rules(rules, false));
        }
        if loss == Loss::None && self.percent(8) {
            self.leave_file();
        }
        let Some(engine) = self.machine.about("open", || self.open(loss)) else {
            return self.end_dead().max(loss);
        };
        let engine = Arc::new(engine);
        if !self.look(&engine, loss) {
            let end = self.end(engine);
            return end.max(loss);
        }
        for _ in 0..self.draw(|random| random.skewed(1, 6)) {
            if self.is_dead() {
                break;
            }
            self.crowd(&engine);
            if self.has_rules && self.percent(10) && !self.change_rules(&engine) {
                // Some series have new classes and others do not: only a start ends that.
                let end = self.kill_or_cut();
                drop(engine);
                return self.go_on(end);
            }
            if !self.is_dead() && self.percent(30) {
                self.look(&engine, Loss::None);
            }
        }
        self.end(engine)
    }

    /// Other rules than there are, or those of before.
    fn draw_rules(&self) -> Rules {
        let known = self.machine.with_time(|time| time.known_rules().to_vec());
        self.draw(|random| match known.is_empty() || random.percent(50) {
            true => draw_rules(random),
            false => *random.pick(&known),
        })
    }

    /// Other rules of retention; false when that failed. Not while another client changes them:
    /// nobody could say which of the two came last.
    fn change_rules(&self, engine: &Engine) -> bool {
        if self.is_changing_rules.swap(true, Ordering::Relaxed) {
            return true;
        }
        let is_changed = self.change_rules_alone(engine);
        self.is_changing_rules.store(false, Ordering::Relaxed);
        is_changed
    }

    fn change_rules_alone(&self, engine: &Engine) -> bool {
        let rules = self.draw_rules();
        if self.is_dead() || !self.machine.with_time(|time| time.set_rules(rules, false)) {
            return true;
        }
        let result = engine.set_retention_rules(retention_rules(rules));
        self.say(format_args!("rules {rules:?}: {result:?}"));
        if let Err(error) = &result
            && !self.is_dead()
            && self.strikes() == 0
            && !self.is_for_room(&error.to_string())
        {
            fail(format!("a change of rules failed although nothing went wrong: {error}"));
        }
        if result.is_ok() {
            self.machine.with_time(crate::time::Time::settle_rules);
        }
        result.is_ok()
    }

    /// Settings of the store, with the rules in force.
    fn config(&self) -> Config {
        let rules = self.machine.with_time(|time| time.rules());
        Config { retention_rules: retention_rules(rules), ..self.config.clone() }
    }

    /// Some clients at once.
    fn crowd(self: &Arc<Self>, engine: &Arc<Engine>) {
        self.tally(|tally| tally.clients += self.clients as u64);
        let threads: Vec<_> = (0..self.clients)
            .map(|_| {
                let mut client = Client::new(self.clone(), engine.clone());
                let actions = self.draw(|random| random.skewed(1, self.theme.actions_max()));
                foliot_scheduler::spawn("client", Box::new(move || client.act(actions)))
            })
            .collect();
        for looks in 0.. {
            if threads.iter().all(foliot_scheduler::Handle::is_over) {
                break;
            }
            if self.is_dead() {
                // A store waits for a disk that refuses; nobody would end that but a dead process.
                let _ = engine.close();
            }
            if looks == LOOKS_UNTIL_HEALED {
                // Who waits for space waits until there is some.
                self.machine.disk().heal();
                // And who waits for memory, until it was written out.
                let flushed = engine.flush();
                let now = (engine.progress(), engine.written(), self.is_dead(), flushed);
                self.say(format_args!("the disk is healed for those who wait: {now:?}"));
            }
            foliot_scheduler::sleep(LOOK_PAUSE);
        }
        lock(&self.history).settle();
        self.check_open_files();
    }

    fn plan_faults(&self) {
        if self.theme == Theme::SmallDisk && self.percent(70) {
            return;
        }
        for _ in 0..if self.percent(10) { 2 } else { 1 } {
            let kind = self.draw(|random| match random.below(100) {
                0..50 => Some(FaultKind::Crash),
                50..59 => Some(FaultKind::SyncError),
                59..68 => Some(FaultKind::NoSpace { operations: random.skewed(1, 12) as u64 }),
                68..75 => Some(FaultKind::ReadError),
                75..78 => Some(FaultKind::RenameError),
                78..80 => Some(FaultKind::RemoveError),
                80..85 => Some(FaultKind::NoDescriptors { operations: random.skewed(1, 8) as u64 }),
                _ => None,
            });
            let Some(kind) = kind else { continue };
            let n = self.draw(|random| match kind {
                FaultKind::Crash => random.skewed(1, 200),
                FaultKind::RenameError | FaultKind::RemoveError => random.skewed(1, 10),
                _ => random.skewed(1, 60),
            });
            self.say(format_args!("plan {kind:?} at its operation {n}"));
            self.machine.disk().fail_after(n as u64, kind);
            lock(&self.planned).push(kind);
        }
    }

    /// Opens the store; nothing when this life cannot go on.
    fn open(&self, loss: Loss) -> Option<Engine> {
        for _ in 0..OPEN_ATTEMPTS {
            let (strikes, parts) = (self.strikes(), self.part_files(Path::new(DIR)));
            match Engine::open(self.machine.mounted(), Path::new(DIR), self.config()) {
                Ok(engine) => {
                    self.say(format_args!("opened"));
                    self.machine.with_time(crate::time::Time::settle_rules);
                    self.note_manifest();
                    self.believe_without(&parts, Path::new(DIR));
                    self.check_told(&engine, loss, strikes);
                    return Some(engine);
                }
                Err(error) => {
                    self.say(format_args!("open failed: {error}"));
                    if self.is_dead() {
                        return None;
                    }
                    if self.strikes() == strikes {
                        fail(format!("cannot open although nothing went wrong: {error}"));
                    }
                    if lock(&self.planned).contains(&FaultKind::SyncError) {
                        return None;
                    }
                }
            }
        }
        fail("cannot open although the faults have passed".to_owned())
    }

    /// The parts that lie in a directory.
    fn part_files(&self, dir: &Path) -> BTreeSet<String> {
        let names = self.machine.disk().list(dir).unwrap_or_default();
        names.into_iter().filter(|name| name.ends_with(".part")).collect()
    }

    /// A store that was opened with none of these parts kept no time of day, and believed the
    /// clock. It may have made others since, of a log that is longer than memory.
    fn believe_without(&self, parts: &BTreeSet<String>, dir: &Path) {
        if parts.is_disjoint(&self.part_files(dir)) {
            self.machine.with_time(crate::time::Time::believe);
        }
    }

    /// Fails the round when a store that was just opened tells of damage which nothing explains.
    fn check_told(&self, engine: &Engine, loss: Loss, strikes_before: u64) {
        match engine.damages() {
            [] => {}
            told if self.is_fault(told, strikes_before) => {}
            // The power went between the manifest and its copy, or the copy could not be put in
            // place.
            [told]
                if (loss > Loss::None || self.strikes() > 0)
                    && told.contains("is missing; there is another") => {}
            damages => fail(format!("damage where there is none: {damages:?}")),
        }
    }

    /// Whether what a store tells of damage is what the disk refused to read since so many strikes:
    /// the parity gives back a page that the disk did not give.
    fn is_fault(&self, told: &[String], strikes_before: u64) -> bool {
        self.strikes() > strikes_before && told.iter().all(|told| told.contains("simulated: "))
    }

    /// Reads everything and compares, while no client does anything; false when the machine died
    /// before all was read.
    fn look(&self, engine: &Engine, loss: Loss) -> bool {
        let mark = self.machine.mark();
        let Some(found) = self.retry_reads(&|| look::all(engine, &self.names)) else {
            return false;
        };
        self.tally(|tally| {
            tally.looks += 1;
            tally.facts += found.len() as u64;
        });
        self.say(format_args!("look: {} facts after loss {loss:?}", found.len()));
        let mut history = lock(&self.history);
        history.set_clock(self.machine.since(&mark));
        let again = history.compare_with_closed(&found);
        again.unwrap_or_else(|text| fail(format!("{text}{}", self.names.explain(&text))));
        let result = match loss {
            Loss::None => history.compare(&found),
            loss => history.survive(loss, &found),
        };
        result.unwrap_or_else(|text| fail(format!("{text}{}", self.names.explain(&text))));
        true
    }

    /// Reads, once more when a fault explains the error; nothing when the machine is dead.
    fn retry_reads<T>(&self, read: &dyn Fn() -> Result<T, look::Failure>) -> Option<T> {
        loop {
            let strikes = self.strikes();
            match read() {
                Ok(found) => return Some(found),
                Err(look::Failure::Contradiction(text)) => fail(text),
                Err(look::Failure::Disk(_)) if self.is_dead() => return None,
                Err(look::Failure::Disk(_)) if self.strikes() > strikes => {}
                Err(look::Failure::Disk(error)) => {
                    fail(format!("a read failed although nothing went wrong: {error}"))
                }
            }
        }
    }

    /// Whether something was planned to go wrong in this life.
    fn is_planned(&self) -> bool {
        !lock(&self.planned).is_empty()
    }

    /// Whether an error says what a small disk may say at any time, full of parts as it may be.
    /// That a flush finds room all the same is asked for elsewhere.
    fn is_for_room(&self, error: &str) -> bool {
        self.theme == Theme::SmallDisk && error.contains("no space left")
    }

    /// An error needs a fault of this life that explains it.
    fn excuse(&self, what: &str, error: &str) {
        let explains = |kind: &FaultKind| *kind != FaultKind::ReadError;
        if self.is_for_room(error) {
            return;
        }
        if self.is_dead() || (self.strikes() > 0 && lock(&self.planned).iter().any(explains)) {
            return;
        }
        fail(format!("{what} failed although nothing went wrong: {error}"));
    }

    fn end(self: &Arc<Self>, engine: Arc<Engine>) -> Loss {
        if self.is_dead() {
            drop(engine);
            return self.end_dead();
        }
        // Faults that pass and leave nothing behind.
        let is_full = |kind: &FaultKind| !matches!(kind, FaultKind::Crash | FaultKind::SyncError);
        let was_full = {
            let planned = lock(&self.planned);
            planned.iter().all(is_full) && !planned.is_empty()
        };
        // A small disk may be full of parts for good.
        if was_full && self.theme != Theme::SmallDisk {
            self.resume(&engine);
        }
        if self.percent(40) {
            // The disk dies before the store does: what the store still does comes too late.
            let end = self.kill_or_cut();
            drop(engine);
            return self.go_on(end);
        }
        let mark = self.machine.mark();
        let Some(seen) = self.retry_reads(&|| look::all(&engine, &self.names)) else {
            drop(engine);
            return self.end_dead();
        };
        {
            let mut history = lock(&self.history);
            history.set_clock(self.machine.since(&mark));
            let result = history.compare(&seen);
            result.unwrap_or_else(|text| fail(format!("{text}{}", self.names.explain(&text))));
        }
        let result = self.machine.about("close", || engine.close());
        let lsn = engine.written().lsn;
        self.say(format_args!("close: {result:?}"));
        let mut loss = Loss::None;
        match result {
            Ok(()) => {
                let news = lock(&self.history).acknowledge_durable(lsn);
                self.tally(|tally| tally.acknowledged += news);
                lock(&self.history).close(seen);
            }
            Err(error) => {
                self.excuse("close", &error.to_string());
                loss = Loss::Process;
            }
        }
        self.tally(|tally| tally.closes += 1);
        // Whatever ends the machine now, a closed store has nothing to lose.
        if self.is_dead() || self.percent(60) {
            drop(engine);
            return self.end_dead().max(loss);
        }
        drop(engine);
        let strikes = self.strikes();
        self.tally(|tally| tally.faults += strikes);
        self.machine.disk().heal();
        if loss == Loss::None && strikes > 0 && !self.machine.may_leave() {
            self.expect_no_leftovers();
        }
        // Work that failed may have left files that nobody would miss.
        if loss == Loss::None && strikes == 0 && self.theme.has_copies() && self.percent(40) {
            self.machine.about("trial", || self.try_damage());
        }
        loss
    }

    /// Work that failed took its files away again.
    fn expect_no_leftovers(&self) {
        let disk: Arc<dyn Disk> = Arc::new(self.machine.disk());
        let checked = foliot_engine::check(&disk, Path::new(DIR));
        let checked = checked.unwrap_or_else(|error| fail(format!("check: {error}")));
        // A manifest that was not finished is written over by the next one.
        let is_leftover = |note: &&String| note.contains("is a leftover") && !note.contains(".new");
        if let Some(note) = checked.notes.iter().find(is_leftover) {
            fail(format!("work that failed left a file: {note}"));
        }
    }

    /// Ends a machine on which no store is open, and begins with the next one.
    fn end_dead(&self) -> Loss {
        let end = self.kill_or_cut();
        self.go_on(end)
    }

    /// Cuts the power or kills the process.
    fn kill_or_cut(&self) -> MachineEnd {
        let old = self.machine.disk();
        let is_power = self.percent(70);
        let end = match is_power {
            true => {
                MachineEnd { next: old.crash(), others: fates::others(&old), loss: Loss::Power }
            }
            false => MachineEnd { next: old.kill(), others: Vec::new(), loss: Loss::Process },
        };
        self.tally(|tally| {
            tally.faults += old.strikes();
            tally.power_cuts += u64::from(is_power);
            tally.kills += u64::from(!is_power);
        });
        self.say(format_args!("the end: loss of {:?}", end.loss));
        end
    }

    /// Begins with the machine that comes after an end, when no store is open any more.
    fn go_on(&self, end: MachineEnd) -> Loss {
        self.try_fates(&end);
        self.machine.replace(end.next);
        end.loss
    }

    /// With space again, writes must go on without a restart.
    fn resume(self: &Arc<Self>, engine: &Arc<Engine>) {
        self.machine.disk().heal();
        let mut client = Client::new(self.clone(), engine.clone());
        for _ in 0..RESUME_ATTEMPTS {
            client.flush();
            client.write();
            if client.is_durable() {
                return;
            }
            // The writer tries again by itself.
            foliot_scheduler::sleep(Duration::from_secs(1));
        }
        fail("writes do not resume although space is back".to_owned());
    }

    fn advance_clock(&self) -> i64 {
        // Some come at one time, and often to one series.
        if self.percent(20) {
            return self.clock_ns.load(Ordering::Relaxed);
        }
        self.clock_ns.fetch_add(1_000_000_000, Ordering::Relaxed) + 1_000_000_000
    }
}
