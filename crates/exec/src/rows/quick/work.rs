//! What there is to fold: heads in order, and the series of each.

use super::super::Context;
use super::super::row::Head;
use super::super::sources::{self, Member, NAMED_MAX, Places, Selected};
use crate::Error;
use crate::limits::Charge;
use foliot_model::Labels;
use foliot_plan::rows::Scan;
use std::collections::HashMap;
use std::sync::Arc;

/// A series to fold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) sid: u32,
    /// Which of the fields that rows carry it is.
    pub(super) field: u32,
    /// Whose windows it goes into.
    pub(super) head: u32,
}

/// The work of a fold.
pub(super) struct Work<'q> {
    /// In the order of the answer.
    pub(super) heads: Vec<Arc<Head>>,
    /// Series all of whose samples count, in the order of their ids, which is that of parts.
    tasks: Vec<Task>,
    /// Sources that rows have to be tested of, each with its head, in the order of heads.
    tested: Vec<(u32, Member)>,
    /// How many heads are folded together, and how many batches of them were begun.
    at_once: usize,
    begun: usize,
    charge: Charge<'q>,
}

/// Some of the work: heads that are folded together.
pub(super) struct Batch<'w> {
    pub(super) tasks: &'w [Task],
    pub(super) tested: &'w [(u32, Member)],
}

impl<'q> Work<'q> {
    /// Finds the work of a scan.
    pub(super) fn find(scan: &Scan, context: Context<'q>) -> Result<Self, Error> {
        let Context { source, meter, .. } = context;
        let selected = sources::select(scan, source, meter)?;
        // The limit is one on the series of a field.
        meter.admit(selected.sids.len().div_ceil(scan.carried.len().max(1)))?;
        let mut work = Self {
            heads: Vec::new(),
            tasks: Vec::new(),
            tested: Vec::new(),
            at_once: usize::MAX,
            begun: 0,
            charge: meter.open(),
        };
        match selected.is_plain(scan) {
            false => work.add_groups(scan, &selected, context)?,
            true => {
                work.charge.resize(selected.sids.len() * (size_of::<Task>() + size_of::<u32>()))?;
                match selected.is_whole() {
                    true => work.add_series(scan, &selected, context)?,
                    false => work.add_sources(scan, &selected, context)?,
                }
            }
        }
        Ok(work)
    }

    /// Cuts the work into batches of so many heads.
    pub(super) fn cut(&mut self, heads: usize) {
        self.at_once = heads.max(1);
        let key = |task: &Task| (task.head as usize / heads.max(1), task.sid);
        if !self.tasks.is_sorted_by_key(key) {
            self.tasks.sort_unstable_by_key(key);
        }
    }

    /// The next batch, if there is one.
    pub(super) fn next_batch(&mut self) -> Option<Batch<'_>> {
        let batch = self.begun;
        self.begun += 1;
        if batch.saturating_mul(self.at_once) >= self.heads.len() {
            return None;
        }
        let of = |head: u32| head as usize / self.at_once;
        let (from, to) = (
            self.tasks.partition_point(|task| of(task.head) < batch),
            self.tasks.partition_point(|task| of(task.head) <= batch),
        );
        let tasks = self.tasks.get(from..to).unwrap_or_default();
        let from = self.tested.partition_point(|(head, _)| of(*head) < batch);
        let to = self.tested.partition_point(|(head, _)| of(*head) <= batch);
        Some(Batch { tasks, tested: self.tested.get(from..to).unwrap_or_default() })
    }

    /// Whether no batch is left.
    pub(super) fn is_done(&self) -> bool {
        self.begun.saturating_mul(self.at_once) >= self.heads.len()
    }

    /// Lets go of all but the heads.
    pub(super) fn let_go(&mut self, scan: &Scan) -> Result<(), Error> {
        (self.tasks, self.tested) = (Vec::new(), Vec::new());
        let heads = self.heads.len() * sources::head_bytes(scan);
        self.charge.resize(heads.min(self.charge.bytes()))
    }

    /// Adds sources that have to be known all at once.
    fn add_groups(
        &mut self,
        scan: &Scan,
        selected: &Selected,
        context: Context<'q>,
    ) -> Result<(), Error> {
        let Context { source, meter, .. } = context;
        let (groups, charge) = sources::find_selected(scan, selected, source, meter)?;
        context.count(groups.iter().map(|group| group.members.len()).sum());
        for group in groups {
            let head = self.heads.len() as u32;
            self.heads.extend(group.members.first().map(|member| member.head.clone()));
            group.members.into_iter().for_each(|member| self.add_member(head, member));
        }
        // They are named as long as there is work.
        let bytes = charge.bytes();
        drop(charge);
        self.charge.add(bytes)
    }

    fn add_member(&mut self, head: u32, member: Member) {
        if member.condition.is_some() {
            return self.tested.push((head, member));
        }
        let sids = member.sids.iter().zip(0..);
        let task = |(sid, field): (&Option<u32>, u32)| Some(Task { sid: (*sid)?, field, head });
        self.tasks.extend(sids.filter_map(task));
    }

    /// Adds series whose sources need not be known but for their heads.
    fn add_series(
        &mut self,
        scan: &Scan,
        selected: &Selected,
        context: Context<'q>,
    ) -> Result<(), Error> {
        let Context { source, meter, .. } = context;
        let fields = sources::fields(scan);
        if let ([_], true) = (&*fields, scan.layout.group_by.is_empty()) {
            context.count(selected.sids.len());
            self.heads.push(Arc::new(sources::head_of(scan, &Labels::default())));
            let task = |&sid: &u32| Task { sid, field: 0, head: 0 };
            self.tasks.extend(selected.sids.iter().map(task));
            return Ok(());
        }
        let places = Places::new(&fields);
        let (mut heads, mut last) = (Heads::default(), None::<(u32, u32)>);
        let mut sources = 0;
        for some in selected.sids.chunks(NAMED_MAX) {
            let labels = Some(&*scan.layout.group_by);
            let mut charged = Ok(());
            source.named(some, labels, meter, &mut |sid, identity| {
                if charged.is_err() {
                    return;
                }
                let before = heads.list.len();
                let head = match &last {
                    Some((source, head)) if *source == identity.source => *head,
                    _ => {
                        sources += 1;
                        heads.number(&Arc::new(sources::head_of(scan, &identity.labels)))
                    }
                };
                last = Some((identity.source, head));
                places.of(&identity.field, |field| {
                    self.tasks.push(Task { sid, field: field as u32, head });
                });
                let made = heads.list.len() - before;
                charged = self.charge.add(made * sources::head_bytes(scan));
            })?;
            charged?;
        }
        context.count(sources);
        self.arrange(scan, heads);
        Ok(())
    }

    /// Adds sources whose names say whether they count, some at a time.
    fn add_sources(
        &mut self,
        scan: &Scan,
        selected: &Selected,
        context: Context<'q>,
    ) -> Result<(), Error> {
        let Context { source, meter, .. } = context;
        let mut heads = Heads::default();
        for some in selected.sids.chunks(NAMED_MAX) {
            let before = (heads.list.len(), self.tested.len());
            let (members, named) = selected.name(scan, source, some, meter)?;
            context.count(some.len());
            for member in members {
                let head = heads.number(&member.head);
                self.add_member(head, member);
            }
            drop(named);
            // Heads stay, and so do sources whose rows have to be tested.
            let made = (heads.list.len() - before.0) * sources::head_bytes(scan);
            let tested = (self.tested.len() - before.1) * sources::member_bytes(scan);
            self.charge.add(made + tested)?;
        }
        self.arrange(scan, heads);
        Ok(())
    }

    /// Puts heads in the order of the answer.
    fn arrange(&mut self, scan: &Scan, Heads { list, .. }: Heads) {
        let mut order: Vec<(Arc<Head>, usize)> = list.into_iter().zip(0..).collect();
        order.sort_by(|(a, _), (b, _)| a.compare(b, &scan.layout.order_by));
        if scan.heads_descending {
            order.reverse();
        }
        let mut ranks = vec![0; order.len()];
        for ((_, number), rank) in order.iter().zip(0..) {
            ranks.get_mut(*number).into_iter().for_each(|place| *place = rank);
        }
        let rank = |head: &mut u32| *head = ranks.get(*head as usize).copied().unwrap_or(0);
        self.tasks.iter_mut().for_each(|task| rank(&mut task.head));
        self.tested.iter_mut().for_each(|(head, _)| rank(head));
        self.tested.sort_by_key(|(head, _)| *head);
        self.heads = order.into_iter().map(|(head, _)| head).collect();
    }
}

/// Heads by number, as they are first seen.
#[derive(Default)]
struct Heads {
    list: Vec<Arc<Head>>,
    numbers: HashMap<Arc<Head>, u32>,
}

impl Heads {
    fn number(&mut self, head: &Arc<Head>) -> u32 {
        if let Some(number) = self.numbers.get(head) {
            return *number;
        }
        let number = self.list.len() as u32;
        self.list.push(head.clone());
        self.numbers.insert(head.clone(), number);
        number
    }
}
