//! Wanted sources: what listings ask of pairs and columns, without looking at every series.
//!
//! Where few sources are wanted, their own pairs are collected. Else each pair, or column, is asked
//! whether one of its sources is wanted; nearly always the first few tell, and a listing that shows
//! 25 names asks only as many as it shows and passes over.

use crate::bitmap::Bitmap;
use crate::names::Names;
use crate::select::{self, GoesOn, Sources};
use foliot_model::Selector;

/// Collecting the pairs of one source costs as much as asking so many sources of a pair.
const SOURCE_COST: usize = 16;
/// Looking up the series of one source in a column costs as much as walking so many series of it.
const SERIES_COST: usize = 8;

/// The sources of the series that a selector wants.
pub(crate) struct Wanted<'a> {
    names: &'a Names,
    /// Columns in which a source must have a series; nothing: any.
    columns: Option<Vec<u32>>,
    /// Those that may be wanted, and the same as a set; nothing: all of the namespace.
    list: Option<(Vec<u32>, Bitmap)>,
    /// Sources that are not wanted; nothing: none is told.
    excluded: Option<Bitmap>,
    /// What is still to be asked of each source.
    exact: Option<Sources>,
    /// Whether the list is what is wanted, and nothing is left to ask.
    is_settled: bool,
}

impl<'a> Wanted<'a> {
    /// The sources of the series in `columns` that meet the selector's conditions; nothing when
    /// there can be none, or when it was not to go on.
    pub(crate) fn new(
        names: &'a Names,
        selector: &Selector,
        columns: Option<Vec<u32>>,
        goes_on: &GoesOn<'_>,
    ) -> Option<Self> {
        let mut wanted =
            Self { names, columns, list: None, excluded: None, exact: None, is_settled: false };
        if selector.only.is_some() {
            let sids = select::select_while(names, selector, goes_on)?;
            let sources = sids.into_iter().filter_map(|sid| names.series(sid));
            wanted.limit(sources.map(|(source, _)| source));
            wanted.is_settled = true;
            return Some(wanted);
        }
        if wanted.columns.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
        let sources = Sources::new(names, selector, goes_on)?;
        if sources.is_void() {
            return None;
        }
        match sources.has_wanted() {
            true => wanted.limit(sources.wanted(names, goes_on)?.into_iter()),
            false => {
                if sources.has_unwanted() {
                    wanted.excluded = Some(sources.unwanted(names, goes_on)?);
                }
                wanted.exact = sources.is_exact().then_some(sources);
                wanted.limit_to_columns();
            }
        }
        Some(wanted)
    }

    fn limit(&mut self, sources: impl Iterator<Item = u32>) {
        let mut set = Bitmap::default();
        sources.for_each(|source| set.set(source));
        self.list = Some((set.iter().collect(), set));
    }

    /// Where the columns have few series, these tell the sources.
    fn limit_to_columns(&mut self) {
        let Some(columns) = &self.columns else { return };
        let postings = &self.names.series_of_column;
        let series: usize = columns.iter().map(|&column| postings.count(column) as usize).sum();
        if series * SOURCE_COST < self.sources_all() {
            let sids = columns.iter().flat_map(|&column| postings.iter(column));
            let sources = sids.filter_map(|sid| self.names.series(sid)).map(|(source, _)| source);
            let sources: Vec<u32> = sources.collect();
            self.limit(sources.into_iter());
        }
    }

    fn sources_all(&self) -> usize {
        self.names.sources().entries().len() as usize
    }

    /// The pairs of all wanted sources, ascending, when these are few.
    pub(crate) fn pairs_of_few(&self) -> Option<Vec<u32>> {
        let (list, _) = self.list.as_ref()?;
        if list.len() * SOURCE_COST > self.sources_all() {
            return None;
        }
        let mut seen = Bitmap::default();
        for &source in list.iter().filter(|&&source| self.has_source(source)) {
            let pairs = self.names.source(source).into_iter().flat_map(|(_, pairs)| pairs);
            pairs.for_each(|pair| seen.set(pair));
        }
        Some(seen.iter().collect())
    }

    /// Whether a wanted source has a pair.
    pub(crate) fn has_pair(&self, pair: u32) -> bool {
        if self.is_everything() {
            return self.names.is_pair_alive(pair);
        }
        self.names.sources().of_pair().iter(pair).any(|source| self.has_source(source))
    }

    /// Whether a wanted source has a series in a column.
    pub(crate) fn has_column(&self, column: u32) -> bool {
        if self.is_everything() {
            return self.names.is_column_alive(column);
        }
        let postings = &self.names.series_of_column;
        if let Some((list, _)) = &self.list
            && list.len() * SERIES_COST < postings.count(column) as usize
        {
            let mut list = list.iter();
            return list.any(|&source| {
                self.names.find_series(source, column).is_some() && self.meets(source)
            });
        }
        postings.iter(column).any(|sid| {
            let series = self.names.series(sid);
            !self.names.is_forgotten(sid) && series.is_some_and(|(source, _)| self.meets(source))
        })
    }

    /// Whether all sources with a living series are wanted.
    fn is_everything(&self) -> bool {
        self.columns.is_none()
            && self.list.is_none()
            && self.excluded.is_none()
            && self.exact.is_none()
    }

    fn has_source(&self, source: u32) -> bool {
        let is_alive = || match &self.columns {
            Some(columns) => self.names.has_series_in(source, columns),
            None => self.names.is_source_alive(source),
        };
        self.meets(source) && (self.is_settled || is_alive())
    }

    /// Whether a source meets the conditions, wherever it has series.
    fn meets(&self, source: u32) -> bool {
        self.list.as_ref().is_none_or(|(_, set)| set.contains(source))
            && !self.excluded.as_ref().is_some_and(|set| set.contains(source))
            && self.exact.as_ref().is_none_or(|sources| sources.accepts(self.names, source))
    }
}
