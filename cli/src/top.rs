//! `zkrecipes top PATH`: what is in use below a path, live on a terminal.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use zkrecipes::drive::{CancelToken, Found, FoundKind, Survey};
use zkrecipes::{Client, State};

use crate::args;
use crate::common::Common;
use crate::follow::ENDING;
use crate::help::examples;
use crate::history::{HandOff, History};
use crate::outcome::{Failure, INTERNAL, Outcome};
use crate::screen::{self, Key, Keys, Look, Pieces, Screen};
use crate::survey::{self, Line, Looking};
use crate::system::signals::{self, SIGINT, SIGWINCH, Signals};
use crate::table;

/// How often the ages move.
const DRAW: Duration = Duration::from_secs(1);
/// From how many columns on there is room for all that a line tells.
const WIDE: usize = 100;
/// From how many columns on there is room for most of it.
const MIDDLE: usize = 64;

/// What is held, waited for, elected, queued and at barriers, live
///
/// A line for each recipe in use at PATH and below it, whoever made it.
///
///   PATH     what the recipe was made with
///   KIND     lock, read/write lock, semaphore, election, queue, double
///            barrier, group
///   NOW      how much of it is in use: permits of those there are, parties
///            that have come, items that are queued
///   WHO      who holds it, leads, works on its items or takes part
///   SINCE    for how long the first of them has been there
///   WAITING  how many wait for it
///   NEXT     who of them is first
///
/// Arrows, or j and k, choose a line; Enter shows who holds it and who waits.
/// h shows who took over from whom since top began, q leaves.
///
/// The nodes are watched, so the servers are asked only when something has
/// changed, and four times a second at most: two requests per node at first,
/// one per contender, none per item of a queue, and one to three for each
/// change. Each node that is looked at costs the server it is connected to
/// two watches, a contender one. What comes and goes within a quarter of a
/// second is not seen.
///
/// A simple barrier cannot be told from any other node with data; --all shows
/// all of these.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes top
  zkrecipes top /locks"))]
pub(crate) struct Args {
    /// Where to look
    #[arg(default_value = "/")]
    path: String,
    /// The nodes with data that are no such recipe, too
    #[arg(long)]
    all: bool,
    /// End by itself, with status 0
    #[arg(long = "for", value_name = "TIME", value_parser = args::duration)]
    limit: Option<Duration>,
}

/// What happens while it is shown.
enum Event {
    Seen(zkrecipes::Result<Survey>),
    Typed(Key),
    Connected(bool),
    Resized,
    Ended,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    if !io::stdout().is_terminal() {
        return Err(Failure::usage(
            "top needs a terminal; zkrecipes ls --recursive prints the same once, and zkrecipes serve shows it in a \
             browser",
        ));
    }
    let (sender, events) = channel();
    let cancel = CancelToken::new();
    let (withdrawing, telling) = (cancel.clone(), sender.clone());
    let caught = [&ENDING[..], &[SIGWINCH]].concat();
    let signals = Signals::catch(&caught, move |signal| {
        let is_end = signals::is_ending(signal.number);
        if is_end {
            withdrawing.cancel();
        }
        let _ = telling.send(if is_end { Event::Ended } else { Event::Resized });
    })
    .map_err(|error| Failure::new(INTERNAL, format!("cannot catch signals: {error}")))?;
    let outcome = common.with_client(&cancel, |client| show(client, &args, sender, &events));
    match signals.ending() {
        // The usual way to end it.
        Some(SIGINT) => Ok(0),
        Some(signal) => Err(Failure::signal(signal)),
        None => outcome,
    }
}

fn show(client: &Client, args: &Args, sender: Sender<Event>, events: &Receiver<Event>) -> Outcome {
    let telling = sender.clone();
    let interrupted = client.on_state(move |state| {
        let _ = match state {
            State::Suspended | State::Lost => telling.send(Event::Connected(false)),
            State::Connected => telling.send(Event::Connected(true)),
            _ => Ok(()),
        };
    });
    let seen = sender.clone();
    // What is dropped last stays longest: the screen is left once nobody writes to it.
    let mut screen = Screen::open()?;
    let _looking = Looking::start(client, &args.path, move |survey| drop(seen.send(Event::Seen(survey))))?;
    let _keys = Keys::read(move |key| drop(sender.send(Event::Typed(key))))
        .map_err(|error| Failure::new(INTERNAL, format!("cannot read the keys: {error}")))?;
    let until = args.limit.map(|limit| Instant::now() + limit);
    let mut view = View::new(&args.path);
    loop {
        screen.draw(&view.frame(SystemTime::now(), screen::size()))?;
        let rest = until.map_or(DRAW, |until| until.saturating_duration_since(Instant::now()).min(DRAW));
        if rest.is_zero() {
            break;
        }
        let mut event = events.recv_timeout(rest);
        // All that has happened goes into one frame.
        while let Ok(happened) = event {
            match happened {
                Event::Seen(survey) => view.saw(survey?, args.all),
                Event::Typed(Key::Char('q' | 'Q')) | Event::Ended => {
                    interrupted.unsubscribe();
                    return Ok(0);
                }
                Event::Typed(key) => view.typed(key),
                Event::Connected(is_connected) => view.is_connected = is_connected,
                Event::Resized => {}
            }
            event = events.try_recv().map_err(|_| RecvTimeoutError::Timeout);
        }
    }
    interrupted.unsubscribe();
    Ok(0)
}

/// What is known, and what of it is shown.
struct View {
    path: String,
    survey: Option<Survey>,
    is_connected: bool,
    history: History,
    shows_history: bool,
    /// The line that was chosen; it moves with its recipe.
    chosen: Option<(String, FoundKind)>,
    is_open: bool,
    /// The first line that is shown.
    top: usize,
    /// How many were shown.
    page: usize,
}

impl View {
    fn new(path: &str) -> View {
        View {
            path: path.to_owned(),
            survey: None,
            is_connected: true,
            history: History::default(),
            shows_history: false,
            chosen: None,
            is_open: false,
            top: 0,
            page: 1,
        }
    }

    fn saw(&mut self, mut survey: Survey, with_nodes: bool) {
        survey::keep(&mut survey, with_nodes);
        self.history.add(&survey.found, SystemTime::now());
        self.survey = Some(survey);
    }

    fn found(&self) -> &[Found] {
        self.survey.as_ref().map_or(&[], |survey| &survey.found)
    }

    fn place(&self) -> Option<usize> {
        let (path, kind) = self.chosen.as_ref()?;
        self.found().iter().position(|found| found.path == *path && found.kind == *kind)
    }

    fn typed(&mut self, key: Key) {
        let last = self.found().len().saturating_sub(1);
        let place = match (key, self.place()) {
            (Key::Char('h'), _) => {
                self.shows_history = !self.shows_history;
                return;
            }
            (Key::Enter, Some(_)) => {
                self.is_open = !self.is_open;
                return;
            }
            (Key::Escape, _) => {
                (self.is_open, self.shows_history) = (false, false);
                return;
            }
            (Key::Down | Key::Char('j') | Key::Enter, None) | (Key::Home | Key::Char('g'), _) => 0,
            (Key::Up | Key::Char('k'), None) | (Key::End | Key::Char('G'), _) => last,
            (Key::Down | Key::Char('j'), Some(at)) => at + 1,
            (Key::Up | Key::Char('k'), Some(at)) => at.saturating_sub(1),
            (Key::PageDown | Key::Char(' '), at) => at.unwrap_or(0) + self.page,
            (Key::PageUp, at) => at.unwrap_or(0).saturating_sub(self.page),
            _ => return,
        };
        self.chosen = self.found().get(place.min(last)).map(|found| (found.path.clone(), found.kind));
    }

    fn frame(&mut self, now: SystemTime, (width, height): (usize, usize)) -> Vec<Pieces> {
        let mut lines = vec![self.title(), Pieces::new()];
        let room = height.saturating_sub(3);
        let body = match (self.shows_history, &self.survey) {
            (true, _) => history(&self.history.hand_offs, width),
            (false, None) => vec![vec![(Look::Faint, "looking …".to_owned())]],
            (false, Some(survey)) if survey.found.is_empty() => {
                vec![vec![(Look::Faint, format!("no recipe is in use at {} or below it", self.path))]]
            }
            (false, Some(_)) => self.table(now, width, room),
        };
        lines.extend(body.into_iter().take(room));
        lines.resize(height.saturating_sub(1), Pieces::new());
        lines.push(self.foot());
        lines
    }

    fn title(&self) -> Pieces {
        let found = self.found();
        let waiting: usize = found.iter().map(|found| found.waiting).sum();
        let mut title = vec![
            (Look::Strong, table::printable(&self.path)),
            (Look::Plain, format!("  {} in use, ", found.len())),
            (if waiting > 0 { Look::Busy } else { Look::Plain }, format!("{waiting} waiting")),
        ];
        if !self.is_connected {
            title.insert(0, (Look::Bad, "no server answers; still trying  ".to_owned()));
        } else if self.survey.as_ref().is_some_and(|survey| survey.is_cut) {
            title.push((Look::Bad, format!("  {}", survey::CUT)));
        }
        title
    }

    fn foot(&self) -> Pieces {
        let other = if self.shows_history { "h back" } else { "h history" };
        vec![(Look::Faint, format!("q quit  ↑↓ choose  ⏎ open  {other}"))]
    }

    /// The headings and as many lines as there is room for, those around the chosen one.
    fn table(&mut self, now: SystemTime, width: usize, room: usize) -> Vec<Pieces> {
        let place = self.place();
        let found = self.found();
        let columns: &[usize] = match width {
            WIDE.. => &[0, 1, 2, 3, 4, 5, 6],
            MIDDLE.. => &[0, 1, 2, 3, 4, 5],
            _ => &[0, 2, 3, 5],
        };
        let mut headings = survey::HEADINGS.map(str::to_owned);
        if width < MIDDLE {
            headings[5] = "WAIT".to_owned();
        }
        let cells: Vec<[String; 7]> =
            std::iter::once(headings).chain(found.iter().map(|found| Line::of(found).cells(now))).collect();
        let widths = widths(&cells, columns, width.saturating_sub(2));
        let mut opened = 0;
        let mut lines = Vec::new();
        for (at, cells) in cells.iter().enumerate() {
            let of = at.checked_sub(1).map(|at| &found[at]);
            let is_chosen = at > 0 && Some(at - 1) == place;
            lines.push(line(cells, columns, &widths, of, is_chosen));
            if is_chosen && self.is_open {
                let inside = contenders(&found[at - 1], now);
                opened = inside.len();
                lines.extend(inside);
            }
        }
        let headings = lines.remove(0);
        let page = room.saturating_sub(1).max(1);
        if let Some(place) = place {
            let last = (place + opened.min(page - 1)).min(lines.len() - 1);
            self.top = self.top.clamp((last + 1).saturating_sub(page).min(place), place);
        }
        self.top = self.top.min(lines.len().saturating_sub(page));
        self.page = page;
        std::iter::once(headings).chain(lines.into_iter().skip(self.top)).collect()
    }
}

/// How wide each of the columns is: as wide as it needs, or the widest give way.
fn widths(cells: &[[String; 7]], columns: &[usize], room: usize) -> Vec<usize> {
    let widest = |column: &usize| cells.iter().map(|line| screen::columns(&line[*column])).max().unwrap_or(0);
    let mut widths: Vec<usize> = columns.iter().map(widest).collect();
    let room = room.saturating_sub(2 * columns.len().saturating_sub(1));
    // Names can be cut; the rest only where there is no room for them at all.
    for (is_name, least) in [(true, 8), (false, 3), (true, 1)] {
        let may_give = |column: &usize| matches!(column, 0 | 3 | 6) == is_name;
        while widths.iter().sum::<usize>() > room {
            let giving = widths.iter_mut().zip(columns).filter(|(_, column)| may_give(column));
            let widest = giving.map(|(width, _)| width).max().filter(|width| **width > least);
            match widest {
                Some(widest) => *widest -= 1,
                None => break,
            }
        }
    }
    widths
}

fn line(
    cells: &[String; 7],
    columns: &[usize],
    widths: &[usize],
    found: Option<&Found>,
    is_chosen: bool,
) -> Pieces {
    let mut pieces = vec![(Look::Plain, if is_chosen { "> " } else { "  " }.to_owned())];
    for (column, width) in columns.iter().zip(widths) {
        let text = match column {
            0 => screen::cut_front(&cells[0], *width),
            column => screen::cut(&cells[*column], *width),
        };
        let padding = " ".repeat(width.saturating_sub(screen::columns(&text)) + 2);
        let look = match (found, column) {
            (None, _) => Look::Faint,
            (Some(_), _) if is_chosen => Look::Chosen,
            (Some(_), 0) => Look::Strong,
            (Some(found), 2) if found.holding > 0 => Look::Good,
            (Some(found), 5 | 6) if found.waiting > 0 => Look::Busy,
            (Some(found), 2) if found.dead > 0 => Look::Bad,
            _ => Look::Plain,
        };
        pieces.push((look, text));
        pieces.push((Look::Plain, padding));
    }
    pieces
}

/// Who holds it and who waits, in the order in which they get it.
fn contenders(found: &Found, now: SystemTime) -> Vec<Pieces> {
    let line = |contender: &zkrecipes::Contender| {
        let (look, word) = match contender.holds {
            true => (Look::Good, "holds"),
            false => (Look::Busy, "waits"),
        };
        let age = table::age(now.duration_since(contender.since).unwrap_or_default());
        let who = survey::shown(contender);
        let rest = format!(
            "  {who}  {}  {age}  {:#x}  {}",
            contender.kind,
            contender.session_id,
            table::printable(&contender.node)
        );
        vec![(Look::Plain, "    ".to_owned()), (look, word.to_owned()), (Look::Plain, rest)]
    };
    let mut lines: Vec<_> = found.contenders.iter().map(line).collect();
    let more = (found.holding + found.waiting).saturating_sub(lines.len());
    if more > 0 {
        lines.push(vec![(Look::Faint, format!("    … and {more} more"))]);
    }
    lines
}

fn history<'a>(hand_offs: impl IntoIterator<Item = &'a HandOff>, width: usize) -> Vec<Pieces> {
    let line = |hand_off: &HandOff| {
        let who = |name: &Option<String>| name.clone().unwrap_or_else(|| "nobody".to_owned());
        let held = hand_off.held.map(|held| format!(" after {}", table::age(held))).unwrap_or_default();
        vec![
            (Look::Faint, format!("{}  ", &table::timestamp(hand_off.at)[11..19])),
            (Look::Strong, screen::cut_front(&table::printable(&hand_off.path), width / 3)),
            (Look::Plain, format!("  {} → {}{held}", who(&hand_off.from), who(&hand_off.to))),
        ]
    };
    let mut lines: Vec<_> = hand_offs.into_iter().map(line).collect();
    if lines.is_empty() {
        lines.push(vec![(Look::Faint, "nothing has changed hands since".to_owned())]);
    }
    lines
}
