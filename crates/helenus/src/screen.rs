//! The screen of a run: rates, percentiles, nodes, and what the run waits for, drawn again each second.
//! Refuses keys: Ctrl-C stops the run as ever, and the terminal is as it was when the screen is gone.

use helenus_cluster::cancel::Cancel;
use helenus_model::live::{BACK_NS, NodeLine, OperationLine, Picture, Second};
use helenus_model::sample::Stretch;
use helenus_model::units::{Bytes, fixed, percent, thousands, whole};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, LineGauge, Paragraph, Row, Sparkline, Table};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios};
use std::io::{self, BufWriter, Stderr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Smallest terminal that a screen fits in: columns and rows.
const LEAST: (u16, u16) = (60, 18);

/// Shortest time between two drawings.
const DRAW_EVERY: Duration = Duration::from_millis(450);

/// Rows of the rate, with its title: least and most.
const RATE: (u16, u16) = (4, 14);

/// Most rows of operations.
const OPERATIONS_MOST: usize = 8;

/// Between two looks at whether the person stops the run.
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// A terminal that shows a run until this is dropped, or until the person stops the run.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
    taken: Arc<Taken>,
    /// Gives the terminal back as soon as the run is stopped: a second Ctrl-C ends the program at once.
    guard: Option<JoinHandle<()>>,
    area: Rect,
    drawn: Option<Instant>,
}

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    /// What runs, and where.
    pub(crate) title: &'a str,
    /// The run.
    pub(crate) picture: &'a Picture,
    /// Notes and cautions, the newest last.
    pub(crate) words: &'a [String],
}

/// A terminal that was taken.
struct Taken {
    /// How it was set before.
    before: Option<Termios>,
    /// Whether it was given back; held while it is drawn on.
    given_back: Mutex<bool>,
}

impl Taken {
    fn given_back(&self) -> MutexGuard<'_, bool> {
        self.given_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self) {
        let mut given_back = self.given_back();
        if !*given_back {
            *given_back = true;
            put_back(self.before.as_ref());
        }
    }
}

impl Screen {
    /// Takes the terminal behind standard error; none where that is too small or cannot be drawn on.
    pub(crate) fn open(cancel: &Cancel) -> Option<Self> {
        let area = size().filter(|area| area.width >= LEAST.0 && area.height >= LEAST.1)?;
        let able = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        if !able {
            return None;
        }
        let before = without_echo();
        let opened = execute!(io::stderr(), EnterAlternateScreen, Hide).and_then(|()| {
            let viewport = Viewport::Fixed(area);
            let backend = CrosstermBackend::new(BufWriter::new(io::stderr()));
            Terminal::with_options(backend, TerminalOptions { viewport })
        });
        let taken = Arc::new(Taken {
            before,
            given_back: Mutex::new(false),
        });
        match opened {
            Ok(terminal) => {
                let (watched, cancel) = (Arc::clone(&taken), cancel.clone());
                let guard = std::thread::Builder::new().name("screen".into());
                let guard = guard.spawn(move || {
                    while !cancel.is_set() && !*watched.given_back() {
                        std::thread::sleep(LOOK_EVERY);
                    }
                    watched.give_back();
                });
                Some(Self {
                    terminal,
                    taken,
                    guard: guard.ok(),
                    area,
                    drawn: None,
                })
            }
            Err(error) => {
                tracing::debug!(%error, "no screen");
                taken.give_back();
                None
            }
        }
    }

    /// Draws, if the last time is long enough ago.
    pub(crate) fn draw(&mut self, view: View<'_>) {
        if self.drawn.is_some_and(|at| at.elapsed() < DRAW_EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let given_back = self.taken.given_back();
        if *given_back {
            return;
        }
        let resized = match size() {
            Some(area) if area != self.area => {
                self.area = area;
                self.terminal.resize(area)
            }
            _ => Ok(()),
        };
        let drawn =
            resized.and_then(|()| self.terminal.draw(|frame| draw(frame, view)).map(|_| ()));
        if let Err(error) = drawn {
            tracing::debug!(%error, "the screen");
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.taken.give_back();
        let _panicked = self.guard.take().map(JoinHandle::join);
    }
}

/// The terminal behind standard error; none where that is not one.
fn size() -> Option<Rect> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    Some(Rect::new(0, 0, size.ws_col, size.ws_row))
}

/// Keys are not shown, and Ctrl-Z does not leave the shell with half a screen; Ctrl-C works as ever.
fn without_echo() -> Option<Termios> {
    let before = rustix::termios::tcgetattr(io::stderr()).ok()?;
    let mut now = before.clone();
    now.local_modes
        .remove(LocalModes::ECHO | LocalModes::ICANON);
    now.special_codes[SpecialCodeIndex::VSUSP] = 0;
    rustix::termios::tcsetattr(io::stderr(), OptionalActions::Now, &now).ok()?;
    Some(before)
}

fn put_back(before: Option<&Termios>) {
    let _terminal_gone = execute!(io::stderr(), LeaveAlternateScreen, Show);
    if let Some(before) = before {
        // What was typed meanwhile was meant for nobody.
        let _terminal_gone = rustix::termios::tcflush(io::stderr(), QueueSelector::IFlush);
        let _terminal_gone = rustix::termios::tcsetattr(io::stderr(), OptionalActions::Now, before);
    }
}

/// One second of a run as a line, for a terminal without a screen or for a log.
pub(crate) fn line(picture: &Picture) -> String {
    let (_, progress) = picture.progress();
    let last = picture.seconds().next_back().unwrap_or_default();
    let (in_flight, _) = picture.in_flight();
    let lines = picture.operations();
    let [p50, p99, _] = lines.last().map_or([None; 3], |all| all.percentiles_ns);
    let mut text = format!(
        "{}{} {progress}: {} op/s, {} p50 {} p99 {} ms, {in_flight} in flight",
        picture.phase(),
        warm(picture),
        thousands(last.completed),
        picture.times_are(),
        ms(p50),
        ms(p99),
    );
    if picture.waiting() > 0 {
        text.push_str(&format!(", {} wait", thousands(picture.waiting())));
    }
    if last.failed > 0 {
        text.push_str(&format!(", {} failed", thousands(last.failed)));
    }
    text
}

fn warm(picture: &Picture) -> &'static str {
    match picture.stretch() {
        Some(Stretch::Warmup) => " (warm-up)",
        _ => "",
    }
}

fn ms(ns: Option<u64>) -> String {
    #[expect(clippy::cast_precision_loss, reason = "times below 2^53 ns")]
    ns.map_or("–".to_owned(), |ns| fixed(ns as f64 / 1e6, 2))
}

fn draw(frame: &mut Frame<'_>, view: View<'_>) {
    let picture = view.picture;
    let operations = picture.operations();
    let nodes = picture.nodes();
    let waits = picture.waits_for();
    let shown = operations.len().min(OPERATIONS_MOST);
    let height = frame.area().height;
    let (times, waits_for) = (rows(shown) + 2, rows(waits.len().clamp(1, 3)) + 1);
    let words = words_height(view.words, height);
    let taken = 3 + times + waits_for + words;
    let left = height.saturating_sub(taken);
    let rate = left
        .saturating_sub(rows(nodes.len()) + 2)
        .clamp(RATE.0, RATE.1);
    let [
        head,
        gauge,
        state_at,
        rate,
        times,
        nodes_at,
        waits_at,
        words_at,
        _,
    ] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(rate),
        Constraint::Length(times),
        Constraint::Length(left.saturating_sub(rate).min(rows(nodes.len()) + 2)),
        Constraint::Length(waits_for),
        Constraint::Length(words),
        Constraint::Fill(1),
    ])
    .areas(frame.area());
    frame.render_widget(title(view), head);
    frame.render_widget(progress(picture), gauge);
    frame.render_widget(state(picture), state_at);
    draw_rate(frame, picture, rate);
    draw_times(
        frame,
        (picture, &operations[operations.len() - shown..]),
        times,
    );
    draw_nodes(frame, (picture, &nodes), nodes_at);
    let lines: Vec<Line<'_>> = waits.iter().map(|text| Line::raw(text.as_str())).collect();
    frame.render_widget(Paragraph::new(lines).block(block("Waits for")), waits_at);
    if words_at.height > 1 {
        let fit = usize::from(words_at.height - 1);
        let newest = &view.words[view.words.len().saturating_sub(fit)..];
        let lines: Vec<Line<'_>> = newest.iter().map(|text| Line::raw(text.as_str())).collect();
        frame.render_widget(Paragraph::new(lines).block(block("Notes")), words_at);
    }
}

fn rows(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX - 8)
}

/// Rows for notes: none without any, and few on a small terminal.
fn words_height(words: &[String], height: u16) -> u16 {
    let most = if height < 30 { 2 } else { 6 };
    match rows(words.len()) {
        0 => 0,
        count => count.min(most) + 1,
    }
}

fn block(title: &str) -> Block<'_> {
    Block::new()
        .borders(Borders::TOP)
        .border_style(Style::new().dark_gray())
        .title(Span::styled(title, Style::new().bold()))
}

/// The phase, and what runs.
fn title(view: View<'_>) -> Line<'_> {
    let picture = view.picture;
    let mut spans = Vec::new();
    let bold = Style::new().bold();
    match picture.stretch() {
        None => spans.push(Span::styled("connecting", bold)),
        Some(stretch) => {
            spans.push(Span::styled(picture.phase(), bold));
            if stretch == Stretch::Warmup {
                spans.push(Span::styled(" warm-up", Style::new().fg(Color::Yellow)));
            }
        }
    }
    spans.push(Span::styled(
        format!("  {}", view.title),
        Style::new().dark_gray(),
    ));
    Line::from(spans)
}

/// What is in flight, what waits, what failed.
fn state(picture: &Picture) -> Line<'static> {
    let (in_flight, slots) = picture.in_flight();
    let mut text = format!("{in_flight} of {slots} in flight");
    if picture.waiting() > 0 {
        text.push_str(&format!(", {} wait", thousands(picture.waiting())));
    }
    let mut line = Line::raw(text);
    let failed: Vec<String> = picture
        .failed()
        .iter()
        .map(|(kind, count)| format!("{} {}", thousands(*count), kind.word().replace('_', " ")))
        .collect();
    if !failed.is_empty() {
        let text = format!(" · failed: {}", failed.join(", "));
        line.push_span(Span::styled(text, Style::new().fg(Color::Red)));
    }
    line
}

fn progress(picture: &Picture) -> LineGauge<'static> {
    let (share, words) = picture.progress();
    LineGauge::default()
        .ratio(share)
        .filled_style(Style::new().fg(Color::Cyan))
        .unfilled_style(Style::new().dark_gray())
        .label(words)
}

fn draw_rate(frame: &mut Frame<'_>, picture: &Picture, area: Rect) {
    let width = usize::from(area.width);
    let seconds: Vec<Second> = picture.seconds().collect();
    // As wide as half a minute allows, and as narrow as a column.
    let columns = (width / seconds.len().max(30)).clamp(1, 4);
    let fit = width / columns;
    let shown = &seconds[seconds.len().saturating_sub(fit)..];
    let newest = shown.last().copied().unwrap_or_default();
    let most = shown.iter().map(|s| s.completed).max().unwrap_or(0);
    let mut title = format!("Operations a second: {}", thousands(newest.completed));
    if let Some(asked) = picture.asked_per_s() {
        title.push_str(&format!(", {} asked", whole(asked)));
    }
    title.push_str(&format!(", at most {}", thousands(most)));
    let wide = shown
        .iter()
        .flat_map(|second| std::iter::repeat_n(second.completed, columns));
    let bars = Sparkline::default()
        .data(wide)
        .max(most.max(1))
        .style(Style::new().fg(Color::Cyan))
        .block(block(&title));
    frame.render_widget(bars, area);
}

fn draw_times(frame: &mut Frame<'_>, of: (&Picture, &[OperationLine]), area: Rect) {
    let (picture, operations) = of;
    let title = format!(
        "{} of the last {} s, ms",
        capital(picture.times_are()),
        BACK_NS / 1_000_000_000
    );
    let rows = operations.iter().map(|line| {
        let [p50, p99, p999] = line.percentiles_ns;
        let per_s = if line.per_s < 10.0 {
            fixed(line.per_s, 1)
        } else {
            whole(line.per_s)
        };
        Row::new([
            Cell::from(line.name.clone()),
            right(per_s),
            right(ms(p50)),
            right(ms(p99)),
            right(ms(p999)),
            right(ms(line.max_ns)),
        ])
    });
    let widths = [
        first_column(operations.iter().map(|line| line.name.as_str())),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(9),
    ];
    let head = ["operation", "op/s", "p50", "p99", "p99.9", "max"];
    frame.render_widget(table(rows, &widths, head).block(block(&title)), area);
}

/// As wide as its longest name, and not wider than half a small terminal.
fn first_column<'a>(names: impl Iterator<Item = &'a str>) -> Constraint {
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    Constraint::Length(rows(longest.clamp(10, 28)))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn right(text: impl Into<String>) -> Cell<'static> {
    Cell::from(Line::from(text.into()).right_aligned())
}

/// A table whose numbers are to the right. Words are to the left: the first column, and what begins with a space.
fn table<'a, const N: usize>(
    rows: impl IntoIterator<Item = Row<'a>>,
    widths: &[Constraint; N],
    head: [&'a str; N],
) -> Table<'a> {
    let cells = head.iter().enumerate().map(|(at, text)| match at {
        0 => Cell::from(*text),
        _ if text.starts_with(' ') => Cell::from(*text),
        _ => right(*text),
    });
    Table::new(rows, widths.iter().copied())
        .header(Row::new(cells).style(Style::new().dark_gray()))
        .column_spacing(1)
}

fn draw_nodes(frame: &mut Frame<'_>, of: (&Picture, &[NodeLine]), area: Rect) {
    let (picture, nodes) = of;
    if area.height < 3 {
        return;
    }
    let mut title = "Nodes".to_owned();
    if let Some([busy, others, stolen]) = picture.host() {
        title.push_str(&format!(" · machine {} busy", percent_whole(busy)));
        if others >= 0.02 {
            title.push_str(&format!(", others {}", percent_whole(others)));
        }
        if stolen >= 0.02 {
            title.push_str(&format!(", stolen {}", percent_whole(stolen)));
        }
    }
    if let Some([busy, _]) = picture.generator() {
        title.push_str(&format!(" · generator {} processors", fixed(busy, 2)));
    }
    let fit = usize::from(area.height - 2);
    let (shown, hidden) = match nodes.len() > fit {
        true => (fit - 1, nodes.len() + 1 - fit),
        false => (nodes.len(), 0),
    };
    let mut rows: Vec<Row<'_>> = nodes[..shown].iter().map(node).collect();
    if hidden > 0 {
        rows.push(Row::new([Cell::from(format!("and {hidden} more"))]));
    }
    let widths = [
        first_column(nodes.iter().map(|node| node.name.as_str())),
        Constraint::Length(5),
        Constraint::Length(8),
        Constraint::Length(11),
        Constraint::Length(11),
        Constraint::Length(9),
        Constraint::Fill(1),
    ];
    let head = [
        "node",
        "CPU",
        "memory",
        "collections",
        "compactions",
        "writes/s",
        "  tasks wait",
    ];
    frame.render_widget(table(rows, &widths, head).block(block(&title)), area);
}

/// A share without decimals: it moves each second.
fn percent_whole(share: f64) -> String {
    percent((share * 100.0).round() / 100.0)
}

fn node(node: &NodeLine) -> Row<'static> {
    if !node.up {
        let style = Style::new().fg(Color::Red);
        return Row::new([
            Cell::from(node.name.clone()),
            Cell::from(Line::from("down").right_aligned()),
        ])
        .style(style);
    }
    let (count, ns) = node.collections;
    let collections = match count {
        0 => "–".to_owned(),
        _ => format!("{count}, {} ms", ns / 1_000_000),
    };
    let compactions = match node.compactions {
        (0, _) => "–".to_owned(),
        (1, Some(share)) => percent_whole(share),
        (count, _) => count.to_string(),
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bytes a second"
    )]
    let written = node
        .written_per_s
        .map_or("–".to_owned(), |bytes| Bytes(bytes as u64).to_string());
    let pending = node.pending.as_ref();
    Row::new([
        Cell::from(node.name.clone()),
        right(node.processors.map_or("–".to_owned(), |of| fixed(of, 2))),
        right(Bytes(node.rss_bytes).to_string()),
        right(collections),
        right(compactions),
        right(written),
        Cell::from(pending.map_or("  –".to_owned(), |(pool, count)| {
            format!("  {count} {}", pool.strip_suffix("Stage").unwrap_or(pool))
        })),
    ])
}

#[cfg(test)]
mod tests;
