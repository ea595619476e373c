//! What happened, in figures.

use std::ops::AddAssign;

/// Names all figures once: the struct, its sum, and the way from one process to another have them from here.
macro_rules! tally {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Figures of a run.
        #[derive(Debug, Default, Clone, Copy)]
        pub struct Tally { $($(#[$doc])* pub $name: u64,)* }

        impl AddAssign for Tally {
            fn add_assign(&mut self, other: Tally) {
                $(self.$name += other.$name;)*
            }
        }

        impl Tally {
            /// How many there are.
            pub const FIGURES: usize = [$(stringify!($name)),*].len();

            /// All of them, in their order.
            pub fn figures(&self) -> [u64; Tally::FIGURES] {
                [$(self.$name),*]
            }

            /// `None` if there are not as many.
            pub fn of(figures: &[u64]) -> Option<Tally> {
                let &[$($name),*] = figures else { return None };
                Some(Tally { $($name),* })
            }
        }
    };
}

tally! {
    acquisitions,
    losses,
    timeouts,
    cancellations,
    downgrades,
    requests,
    changes,
    observed,
    items,
    deaths,
    rounds,
    commits,
    aborts,
    crashes,
    faults,
    collected,
    refusals,
    settings,
    /// Requests of more than half of what a server takes.
    bulky,
    /// Ends of claims of which nobody heard.
    doubts,
    /// Nodes that somebody deleted who had no part in them.
    deletions,
    /// Names that were another node's before.
    reused,
    /// How often followers fell behind, or lost the leader.
    lags,
    /// How often all lost the leader, and had one again.
    elections,
    /// Sessions that their client had given up, and was to close when it had a server again.
    outlived,
}
