//! Which server it is, and what does not work there.

use super::report::{Level, Report};

/// Servers that speak the protocol.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Product {
    ZooKeeper,
    ClickHouse,
    RaftKeeper,
}

/// What all but ZooKeeper are asked for: see `is_counted` in the core.
const BASICS: &str = "only what ZooKeeper 3.4 knows is asked for there: the parents of locks stay for ever, nodes have no time to \
                      live, whoami is refused, and a create and a watch of a large group cost more requests";

impl Product {
    const ALL: [Product; 3] = [Product::ZooKeeper, Product::ClickHouse, Product::RaftKeeper];

    pub(super) fn name(self) -> &'static str {
        match self {
            Product::ZooKeeper => "ZooKeeper",
            Product::ClickHouse => "ClickHouse Keeper",
            Product::RaftKeeper => "RaftKeeper",
        }
    }

    /// As it stands in the answer to `srvr`, in front of the version.
    fn heading(self) -> &'static str {
        match self {
            Product::ZooKeeper => "Zookeeper version:",
            Product::ClickHouse => "ClickHouse Keeper version:",
            Product::RaftKeeper => "RaftKeeper version:",
        }
    }

    /// The one that gave this answer, and its version: `3.9.5-…, built on …`, `v26.8.1.1431-lts-…`, `RaftKeeper v2.3.0`.
    pub(super) fn of(answer: &str) -> Option<(Product, String)> {
        let found = Product::ALL.into_iter().find_map(|one| {
            answer.lines().find_map(|line| line.strip_prefix(one.heading())).map(|said| (one, said))
        });
        let (product, said) = found?;
        let said = said.trim().trim_start_matches(product.name()).trim().trim_start_matches('v');
        Some((product, said.split(['-', ',']).next()?.trim().to_owned()))
    }

    /// Says what is to be known of it.
    pub(super) fn tell(self, report: &mut Report) {
        let (level, sentence) = match self {
            Product::ZooKeeper => return,
            Product::ClickHouse => (
                Level::Warning,
                format!(
                    "ClickHouse Keeper gives who comes back on another connection another session: whoever holds something loses it \
                     whenever its connection breaks, and its nodes stand in the way until the session timeout; {BASICS}"
                ),
            ),
            Product::RaftKeeper => (Level::Note, format!("RaftKeeper: {BASICS}")),
        };
        report.add(level, "product", sentence).with("product", self.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_how_it_names_its_version() {
        let of = |answer| Product::of(answer).map(|(product, version)| (product.name(), version));
        let told = |name, version: &str| Some((name, version.to_owned()));
        let answer = "Zookeeper version: 3.9.5-b3b1b7a, built on 2026-01-02 10:00 UTC\nMode: leader\n";
        assert_eq!(of(answer), told("ZooKeeper", "3.9.5"));
        let answer =
            "ClickHouse Keeper version: v24.1.1.2048-testing-5a024dfc0936e062770d0cfaad0805b57c1fba17\n";
        assert_eq!(of(answer), told("ClickHouse Keeper", "24.1.1.2048"));
        assert_eq!(of("RaftKeeper version: RaftKeeper v2.3.0\nZxid: 12\n"), told("RaftKeeper", "2.3.0"));
        assert_eq!(of("HTTP/1.1 400 Bad Request\r\n"), None);
    }
}
