//! What a server says of itself when it is asked by a four letter word.

use std::time::{Duration, Instant};

use zkrecipes::{ClientOptions, Result, drive};

use super::product::Product;

/// The servers of a connect string, and the path behind them, which may be empty.
pub(super) fn servers(hosts: &str) -> (Vec<String>, &str) {
    let (servers, chroot) = hosts.split_at(hosts.find('/').unwrap_or(hosts.len()));
    (servers.split(',').map(|server| server.trim().to_owned()).collect(), chroot)
}

/// The answer to `srvr`.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) product: Product,
    pub(super) version: String,
    /// `leader`, `follower`, `observer`, `standalone`, `read-only`.
    pub(super) mode: String,
    pub(super) zxid: u64,
    pub(super) outstanding: u64,
    pub(super) connections: u64,
    /// How long the server took for requests since it was started, in milliseconds: on average, and at most.
    pub(super) latency: (f64, u64),
    /// How long it took to connect and to get this answer.
    pub(super) took: Duration,
}

/// What one server says, or why it says nothing.
pub(super) fn look(server: &str, options: &ClientOptions) -> Result<std::result::Result<Said, String>> {
    let began = Instant::now();
    let answer = drive::ask_server(server, "srvr", options)?;
    Ok(answer.and_then(|answer| match () {
        () if answer.is_empty() => Err("is closed at once: the port may want tls".to_owned()),
        () if answer.contains("not in the whitelist") => {
            Err("answers, but keeps its state to itself: add srvr to 4lw.commands.whitelist".to_owned())
        }
        () => parse(&answer, began.elapsed()).ok_or_else(|| "answers, but not as ZooKeeper does".to_owned()),
    }))
}

/// What only `conf` tells; few servers are asked to answer that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conf {
    /// How often the server counts time.
    pub(super) tick: Duration,
    /// Where those are to be asked that may lead. None of a server that is alone.
    pub(super) voters: Vec<String>,
}

pub(super) fn conf(server: &str, options: &ClientOptions) -> Option<Conf> {
    parse_conf(&drive::ask_server(server, "conf", options).ok()?.ok()?)
}

fn parse_conf(answer: &str) -> Option<Conf> {
    let value = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let tick = Duration::from_millis(value("tickTime=")?.parse().ok()?);
    let own_port = value("clientPort=").unwrap_or_default();
    let members = answer.lines().filter_map(|line| line.strip_prefix("server.")?.split_once('='));
    let voters = members.filter_map(|(_, member)| voter(member.trim(), own_port)).collect();
    Some(Conf { tick, voters })
}

/// Where a member is to be asked that may lead: `host:2888:3888:participant;0.0.0.0:2181`, of which only the host has to be
/// there, and two ports. It may have more than one address, with `|` in between.
fn voter(member: &str, usual_port: &str) -> Option<String> {
    let (member, client) = member.split_once(';').unwrap_or((member, usual_port));
    if member.ends_with(":observer") {
        return None;
    }
    let host = match member.strip_prefix('[') {
        Some(address) => format!("[{}]", address.split_once(']')?.0),
        None => member.split(':').next()?.to_owned(),
    };
    let (own, port) = client.rsplit_once(':').unwrap_or(("", client));
    let own = own.trim_start_matches('/');
    let is_everywhere = matches!(own, "" | "0.0.0.0" | "[::]" | "[0:0:0:0:0:0:0:0]");
    Some(format!("{}:{port}", if is_everywhere { &host } else { own }))
}

fn parse(answer: &str, took: Duration) -> Option<Said> {
    let field = |name: &str| {
        answer
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(|value| value.trim_start_matches(':').trim())
    };
    let (product, version) = Product::of(answer)?;
    let mut latency = field("Latency min/avg/max")?.split('/').skip(1);
    Some(Said {
        product,
        version,
        mode: field("Mode")?.to_owned(),
        zxid: zxid(field("Zxid")?)?,
        outstanding: field("Outstanding")?.parse().ok()?,
        connections: field("Connections")?.parse().ok()?,
        latency: (latency.next()?.parse().ok()?, latency.next()?.parse().ok()?),
        took,
    })
}

/// RaftKeeper alone says it in decimal digits.
fn zxid(said: &str) -> Option<u64> {
    match said.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => said.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_may_lead_are_known_by_where_clients_find_them() {
        let answer = "clientPort=2181\ndataDir=/data\ntickTime=3000\nmaxClientCnxns=60\nserverId=1\npeerType=0\nmembership: \n\
                      server.1=zk1:2888:3888:participant;0.0.0.0:2182\nserver.2=zk2:2888:3888;10.0.0.2:2183\n\
                      server.3=[fd00::3]:2888:3888:participant;2184\nserver.4=zk4:2888:3888:observer;2181\n\
                      server.5=zk5:2888:3888|zk5b:2888:3888:participant\nversion=0\n";
        let conf = parse_conf(answer).expect("complete");
        assert_eq!(conf.tick, Duration::from_secs(3));
        assert_eq!(conf.voters, ["zk1:2182", "10.0.0.2:2183", "[fd00::3]:2184", "zk5:2181"]);
        let alone = parse_conf("clientPort=2181\ntickTime=2000\nserverId=0\n").expect("complete");
        assert_eq!(alone.voters, Vec::<String>::new());
        assert_eq!(parse_conf("conf is not executed because it is not in the whitelist.\n"), None);
    }

    #[test]
    fn an_answer_of_real_zookeeper_is_understood() {
        let answer = "Zookeeper version: 3.9.5-b3b1b7a, built on 2026-01-02 10:00 UTC\nLatency min/avg/max: 0/1.25/37\n\
                      Received: 12\nSent: 11\nConnections: 3\nOutstanding: 2\nZxid: 0x1600000002\nMode: leader\n\
                      Node count: 5\nProposal sizes last/min/max: 48/48/48\n";
        let said = parse(answer, Duration::ZERO).expect("complete");
        assert_eq!((said.version.as_str(), said.mode.as_str()), ("3.9.5", "leader"));
        assert_eq!((said.zxid, said.outstanding, said.connections), (0x16_0000_0002, 2, 3));
        assert_eq!(said.latency, (1.25, 37));
        let answer = "RaftKeeper version: RaftKeeper v2.3.0\nLatency min/avg/max: 0/1/37\nReceived: 12\nSent : 11\nConnections: 3\n\
                      Outstanding: 0\nZxid: 26\nMode: leader\nNode count: 5\n";
        let said = parse(answer, Duration::ZERO).expect("complete");
        assert_eq!((said.product, said.version.as_str(), said.zxid), (Product::RaftKeeper, "2.3.0", 26));
        assert!(parse("HTTP/1.1 400 Bad Request\r\n", Duration::ZERO).is_none());
    }

    #[test]
    fn a_connect_string_is_taken_apart() {
        let (all, chroot) = servers("a:1, [::1]:2,c/app/x");
        assert_eq!((all, chroot), (vec!["a:1".to_owned(), "[::1]:2".to_owned(), "c".to_owned()], "/app/x"));
        assert_eq!(servers("a").1, "");
    }
}
