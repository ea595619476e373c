//! What a server says of itself when it is asked by a four letter word.

use std::time::{Duration, Instant};

use zkrecipes::{ClientOptions, Result, drive};

/// The servers of a connect string, and the path behind them, which may be empty.
pub(super) fn servers(hosts: &str) -> (Vec<String>, &str) {
    let (servers, chroot) = hosts.split_at(hosts.find('/').unwrap_or(hosts.len()));
    (servers.split(',').map(|server| server.trim().to_owned()).collect(), chroot)
}

/// The answer to `srvr`.
#[derive(Clone, Debug)]
pub(super) struct Said {
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

/// How often the server counts time, which only `conf` tells; few servers are asked to answer that.
pub(super) fn tick(server: &str, options: &ClientOptions) -> Option<Duration> {
    let answer = drive::ask_server(server, "conf", options).ok()?.ok()?;
    let millis = answer.lines().find_map(|line| line.strip_prefix("tickTime="))?;
    Some(Duration::from_millis(millis.trim().parse().ok()?))
}

fn parse(answer: &str, took: Duration) -> Option<Said> {
    let field = |name: &str| {
        answer
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(|value| value.trim_start_matches(':').trim())
    };
    let version = field("Zookeeper version")?;
    let mut latency = field("Latency min/avg/max")?.split('/').skip(1);
    Some(Said {
        // `3.9.5-…, built on …`
        version: version.split(['-', ',']).next()?.to_owned(),
        mode: field("Mode")?.to_owned(),
        zxid: u64::from_str_radix(field("Zxid")?.trim_start_matches("0x"), 16).ok()?,
        outstanding: field("Outstanding")?.parse().ok()?,
        connections: field("Connections")?.parse().ok()?,
        latency: (latency.next()?.parse().ok()?, latency.next()?.parse().ok()?),
        took,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_real_zookeeper_is_understood() {
        let answer = "Zookeeper version: 3.9.5-b3b1b7a, built on 2026-01-02 10:00 UTC\nLatency min/avg/max: 0/1.25/37\n\
                      Received: 12\nSent: 11\nConnections: 3\nOutstanding: 2\nZxid: 0x1600000002\nMode: leader\n\
                      Node count: 5\nProposal sizes last/min/max: 48/48/48\n";
        let said = parse(answer, Duration::ZERO).expect("complete");
        assert_eq!((said.version.as_str(), said.mode.as_str()), ("3.9.5", "leader"));
        assert_eq!((said.zxid, said.outstanding, said.connections), (0x16_0000_0002, 2, 3));
        assert_eq!(said.latency, (1.25, 37));
        assert!(parse("HTTP/1.1 400 Bad Request\r\n", Duration::ZERO).is_none());
    }

    #[test]
    fn a_connect_string_is_taken_apart() {
        let (all, chroot) = servers("a:1, [::1]:2,c/app/x");
        assert_eq!((all, chroot), (vec!["a:1".to_owned(), "[::1]:2".to_owned(), "c".to_owned()], "/app/x"));
        assert_eq!(servers("a").1, "");
    }
}
