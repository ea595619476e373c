//! `zkrecipes tree PATH`: a node and everything below it, with data and metadata.

use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Client, ErrorKind, Nodes, Result, Stat};

use crate::args;
use crate::common::Common;
use crate::help::examples;
use crate::outcome::{self, Failure, NO, Outcome};
use crate::table::{self, Fields, Text};

/// How many nodes are read at once.
const TOGETHER: usize = 64;
/// How much of the data a table shows.
const SHOWN: usize = 60;

/// The nodes at and below a path, with their data
///
///   NODE     the path, then the names below it, indented
///   BYTES    the length of the data
///   VERSION  how often the data was changed
///   CHANGED  how long ago that was last
///   OWNER    the session of an ephemeral node, which ends with it
///   DATA     text as it is, anything else as 0x and hexadecimal digits; cut
///            after 60 characters; (denied) where it may not be read
///
/// It is no snapshot: one or two reads per node, 64 nodes at a time. Status 1
/// when there is no node at PATH.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes tree /
  zkrecipes tree --depth 1 /locks
  zkrecipes tree /app --json | jq -r '.[] | select(.bytes > 1000) | .path'"))]
pub(crate) struct Args {
    /// Of the node at the top
    path: String,
    /// No more than N levels below PATH; 0 shows PATH alone
    #[arg(long, value_name = "N", value_parser = args::count)]
    depth: Option<usize>,
    /// Do not cut the data
    #[arg(long)]
    full: bool,
    /// An array of objects: path, data, bytes, version, children, children_version, session, created, changed, czxid,
    /// mzxid. Data that is not text is null, and its bytes are in hex. What may not be read has only path and denied
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { path, full: is_full, json: is_json, .. } = args;
    let depth = args.depth.unwrap_or(usize::MAX);
    common.with_client(&CancelToken::new(), |client| {
        let (client, top) = (client.clone(), path.clone());
        let found = drive::wait(async move { gather(&client, top, depth).await }, None, None)?;
        if found.is_empty() {
            return Err(Failure::new(NO, format!("there is no node at {path}")));
        }
        if is_json {
            return outcome::print(&table::json_array(found.iter().map(Node::fields)));
        }
        let (now, limit) = (SystemTime::now(), if is_full { usize::MAX } else { SHOWN });
        let headings = ["NODE", "BYTES", "VERSION", "CHANGED", "OWNER", "DATA"].map(str::to_owned);
        let rows = found.iter().map(|node| node.cells(found[0].depth(), now, limit));
        let cells: Vec<_> = std::iter::once(headings).chain(rows).collect();
        outcome::print(&(table::columns(&cells).join("\n") + "\n"))
    })
}

struct Node {
    /// Of the node at the top
    path: String,
    /// `None` if we may not read it.
    content: Option<(Vec<u8>, Stat)>,
}

/// The node and what is below it, parents first. Not as of one moment: what goes meanwhile is left out.
async fn gather(client: &Client, top: String, depth: usize) -> Result<Vec<Node>> {
    let nodes = client.nodes();
    let (mut found, mut level) = (Vec::new(), vec![top]);
    for left in (0..=depth).rev() {
        let mut below = Vec::new();
        for paths in level.chunks(TOGETHER) {
            for visited in join_all(paths.iter().map(|path| visit(&nodes, path, left > 0))).await {
                if let Some((node, children)) = visited? {
                    found.push(node);
                    below.extend(children);
                }
            }
        }
        if below.is_empty() {
            break;
        }
        level = below;
    }
    found.sort_by(|one, other| one.path.split('/').cmp(other.path.split('/')));
    Ok(found)
}

/// A node and the paths of its children, if these are asked for; `None` if it has gone.
async fn visit(nodes: &Nodes, path: &str, has_children: bool) -> Result<Option<(Node, Vec<String>)>> {
    let content = match nodes.get(path).await {
        Ok(content) => Some(content),
        Err(error) if error.kind() == ErrorKind::NoNode => return Ok(None),
        Err(error) if error.kind() == ErrorKind::Denied => None,
        Err(error) => return Err(error),
    };
    let names = match &content {
        Some((_, stat)) if has_children && stat.num_children > 0 => match nodes.children(path).await {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NoNode => return Ok(None),
            Err(error) => return Err(error),
        },
        _ => Vec::new(),
    };
    let parent = if path == "/" { "" } else { path };
    let children = names.iter().map(|name| format!("{parent}/{name}")).collect();
    Ok(Some((Node { path: path.to_owned(), content }, children)))
}

impl Node {
    fn depth(&self) -> usize {
        if self.path == "/" { 0 } else { self.path.matches('/').count() }
    }

    fn cells(&self, top: usize, now: SystemTime, limit: usize) -> [String; 6] {
        let indent = self.depth() - top;
        let name = match indent {
            0 => &self.path,
            _ => self.path.rsplit('/').next().unwrap_or_default(),
        };
        let name = table::shown_path(&format!("{}{name}", "  ".repeat(indent)));
        let Some((data, stat)) = &self.content else {
            return [name, "-".into(), "-".into(), "-".into(), "-".into(), "(denied)".into()];
        };
        let owner = match stat.ephemeral_owner {
            0 => "-".to_owned(),
            session => format!("{session:#x}"),
        };
        let changed = match stat.mtime {
            // The server's own nodes were there from the start.
            0 => "-".to_owned(),
            mtime => table::age(now.duration_since(time(mtime)).unwrap_or_default()),
        };
        [
            name,
            stat.data_length.to_string(),
            stat.version.to_string(),
            changed,
            owner,
            Text::of(data).shown(limit),
        ]
    }

    fn fields(&self) -> Fields {
        let mut fields = table::object([("path", self.path.as_str().into())]);
        let Some((data, stat)) = &self.content else {
            fields.extend(table::object([("denied", true.into())]));
            return fields;
        };
        Text::of(data).add_to(&mut fields, "data");
        let session = Some(stat.ephemeral_owner).filter(|session| *session != 0);
        fields.extend(table::object([
            ("bytes", stat.data_length.into()),
            ("version", stat.version.into()),
            ("children", stat.num_children.into()),
            ("children_version", stat.cversion.into()),
            ("session", session.map(|session| format!("{session:#x}")).into()),
            ("created", table::timestamp(time(stat.ctime)).into()),
            ("changed", table::timestamp(time(stat.mtime)).into()),
            ("czxid", format!("{:#x}", stat.czxid).into()),
            ("mzxid", format!("{:#x}", stat.mzxid).into()),
        ]));
        fields
    }
}

fn time(millis: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis.max(0) as u64)
}
