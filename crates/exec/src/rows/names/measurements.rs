//! Measurements that a condition holds of as a whole, see
//! [`Names::MeasurementsAsWhole`](foliot_plan::rows::Names::MeasurementsAsWhole).

use super::Listing;
use crate::Error;
use foliot_engine::Listed;
use foliot_model::{Item, Matcher, Test};
use foliot_plan::rows::{Calculate, Operator, SourceName};
use std::collections::BTreeSet;

impl Listing<'_> {
    /// The measurements of the test that its condition holds of.
    pub(super) fn measurements(&self) -> Result<BTreeSet<String>, Error> {
        match &self.test.condition {
            Some(condition) => self.holding(condition),
            None => self.with(None),
        }
    }

    fn holding(&self, condition: &Calculate) -> Result<BTreeSet<String>, Error> {
        match condition {
            Calculate::Constant(Item::Boolean(true)) => self.with(None),
            Calculate::Binary { operator: Operator::And, left, right } => {
                let (left, right) = (self.holding(left)?, self.holding(right)?);
                Ok(left.intersection(&right).cloned().collect())
            }
            Calculate::Binary { operator: Operator::Or, left, right } => {
                let (mut left, right) = (self.holding(left)?, self.holding(right)?);
                left.extend(right);
                Ok(left)
            }
            Calculate::Passes { text, test, negated } => self.compared(text, test, *negated),
            Calculate::Binary { operator, left, right } => {
                let (name, value) = match (&**left, &**right) {
                    (name, Calculate::Constant(Item::String(value)))
                    | (Calculate::Constant(Item::String(value)), name) => (name, value),
                    _ => return Ok(BTreeSet::new()),
                };
                let test = Test::equal(&**value);
                match operator {
                    Operator::Equal => self.compared(name, &test, false),
                    Operator::NotEqual => self.compared(name, &test, true),
                    _ => Ok(BTreeSet::new()),
                }
            }
            _ => Ok(BTreeSet::new()),
        }
    }

    fn compared(
        &self,
        name: &Calculate,
        test: &Test,
        negated: bool,
    ) -> Result<BTreeSet<String>, Error> {
        let Calculate::Slot(slot) = name else { return Ok(BTreeSet::new()) };
        match self.test.slots.get(*slot) {
            Some(SourceName::Label(name)) => {
                let with_value = self.with(Some((name, test.clone())))?;
                if !negated {
                    return Ok(with_value);
                }
                let with_label = self.with(Some((name, Test::Any)))?;
                Ok(with_label.difference(&with_value).cloned().collect())
            }
            Some(SourceName::Measurement) => {
                let mut all = self.with(None)?;
                all.retain(|measurement| test.passes(measurement) != negated);
                Ok(all)
            }
            None => Ok(BTreeSet::new()),
        }
    }

    /// The measurements that have a source with such a value of a label.
    fn with(&self, label: Option<(&str, Test)>) -> Result<BTreeSet<String>, Error> {
        let matcher = |(name, test): (&str, Test)| Matcher {
            name: name.to_owned(),
            test,
            negated: false,
            accepts_absent: false,
        };
        let listing = Listing { matchers: label.into_iter().map(matcher).collect(), ..*self };
        Ok(listing.ask(&Listed::Measurements, None, usize::MAX)?.into_iter().collect())
    }
}
