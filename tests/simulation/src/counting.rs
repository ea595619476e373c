//! Counting: every change is made once, and whoever made it is told a value of its own.

use std::collections::BTreeSet;

use crate::solo::Solo;

/// All changes add one, so that each that was made has a value that no other one has.
#[derive(Default)]
pub struct Sums(Solo<Inner>);

#[derive(Default)]
struct Inner {
    /// The values that were told.
    told: BTreeSet<i64>,
    /// Those that were not made are taken off again.
    begun: i64,
    made: i64,
}

/// What became of a change.
pub enum Fate {
    Made(i64),
    NotMade,
    Open,
}

impl Sums {
    pub fn begun(&self) {
        self.0.lock().begun += 1;
    }

    /// Why that cannot be.
    pub fn ended(&self, fate: Fate) -> Option<String> {
        let mut sums = self.0.lock();
        match fate {
            Fate::Made(value) => {
                sums.made += 1;
                if !sums.told.insert(value) {
                    return Some(format!("two changes made the value {value}"));
                }
                if value > sums.begun {
                    return Some(format!(
                        "{} changes were begun, and one made the value {value}",
                        sums.begun
                    ));
                }
            }
            Fate::NotMade => sums.begun -= 1,
            Fate::Open => {}
        }
        None
    }

    /// The value while nobody counts any more.
    pub fn final_value(&self, value: i64) -> Option<String> {
        let sums = self.0.lock();
        // Of which nobody was told, because the process has ended, may have been made, too.
        let (least, most) = (sums.made, sums.begun);
        let wrong = !(least..=most).contains(&value);
        wrong.then(|| format!("{least} to {most} changes were made, and the value is {value}"))
    }
}
