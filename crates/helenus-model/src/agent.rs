//! What the conductor of a run and a load agent say to each other around the lines of a generator, the token that an agent
//! is reached with, and what the clocks of both have to do with each other.
//! Refuses to look at a clock or to make a token: what was read is given.

use crate::format::Format;
use crate::hex::hex;
use crate::machine::Machine;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Version of what is said.
pub const VERSION: u32 = 1;

/// The line after which come secrets, plan and moments of a run, as a generator takes them, until [`AgentLine::Ended`].
pub const RUN_WORD: &str = "run";

/// The word, followed by a number, that [`AgentLine::Clock`] answers.
pub const CLOCK_WORD: &str = "clock";

/// The conductor's first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// `helenus.agent/1`.
    pub format: Format,
    /// Version of the conductor.
    pub helenus: String,
    /// That it knows the token of an agent that listens, for the two certificates of this connection only; none over
    /// standard streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
}

/// The agent's answer to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// `helenus.agent/1`.
    pub format: Format,
    /// Version of the agent.
    pub helenus: String,
    /// The agent's machine.
    pub machine: Machine,
}

/// A line that an agent says itself; all others are its generator's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentLine {
    /// Who it is.
    Hello(Hello),
    /// It does not work for this conductor.
    Refused(Refused),
    /// Its clock.
    Clock(ClockReading),
    /// Its generator has ended; no line of it follows.
    Ended(Ended),
}

/// Why an agent does not work for a conductor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Why not.
    pub why: Refusal,
}

/// Why an agent does not work for a conductor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The first line is no greeting of this version.
    Greeting,
    /// The token is not the one that it printed.
    Token,
    /// Another conductor has used the token.
    Busy,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Greeting => "it does not understand this version of helenus",
            Self::Token => "the token is not the one that it printed",
            Self::Busy => "its token was used, and it works for another command",
        })
    }
}

/// The clock of an agent's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// The number that was asked with.
    pub number: u32,
    /// The monotonic clock, in nanoseconds.
    pub monotonic_ns: u64,
}

/// How an agent's generator ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Its exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.signal, self.code) {
            (Some(signal), _) => write!(f, "its generator was ended by signal {signal}"),
            (None, Some(code)) => write!(f, "its generator ended with code {code}"),
            (None, None) => f.write_str("its generator ended"),
        }
    }
}

/// A question for a clock and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trip {
    /// The asker's monotonic clock before, in nanoseconds.
    pub sent_ns: u64,
    /// The asker's monotonic clock after, in nanoseconds.
    pub received_ns: u64,
    /// The monotonic clock that was asked for, in nanoseconds.
    pub theirs_ns: u64,
}

/// By how much a monotonic clock is ahead of another machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// Own time minus the other's, in nanoseconds.
    pub ahead_ns: i64,
    /// The true value differs by at most this, in nanoseconds.
    pub error_ns: u64,
}

impl ClockOffset {
    /// From the shortest of several round trips: the other clock was read somewhere within it, so the middle is wrong by at
    /// most half of it. None where there are no trips.
    pub fn of(trips: &[Trip]) -> Option<Self> {
        let took = |trip: &Trip| trip.received_ns.saturating_sub(trip.sent_ns);
        let shortest = trips.iter().min_by_key(|trip| took(trip))?;
        let half_ns = took(shortest).div_ceil(2);
        let middle = i128::from(shortest.sent_ns) + i128::from(took(shortest) / 2);
        let ahead = middle - i128::from(shortest.theirs_ns);
        Some(Self {
            ahead_ns: i64::try_from(ahead).unwrap_or_default(),
            error_ns: half_ns,
        })
    }

    /// By how much it moved until a later measurement, in nanoseconds.
    pub fn drift_ns(self, later: Self) -> u64 {
        self.ahead_ns.abs_diff(later.ahead_ns)
    }
}

/// A generator that was not on the conductor's machine, as a run's result names it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratorSeen {
    /// Address or command of its agent, or its pod.
    pub name: String,
    /// Operations that it was offered, warm-up included.
    pub offered: u64,
    /// The conductor's monotonic clock minus its own, in microseconds; its times were shifted by this.
    pub clock_ahead_us: f64,
    /// Half of the shortest round trip in which that was measured: the most by which it is wrong at that moment, in
    /// microseconds.
    pub clock_error_us: f64,
    /// By how much it moved between the beginning and the end of the run, in microseconds, both errors included; absent
    /// where it was lost before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_drift_us: Option<f64>,
    /// What became of it, where it ended before the run did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

impl GeneratorSeen {
    /// The most by which its times are wrong on the conductor's clock, in microseconds.
    pub fn error_us(&self) -> f64 {
        self.clock_error_us + self.clock_drift_us.unwrap_or_default()
    }
}

/// Bytes of a fingerprint and of a token.
const BYTES: usize = 32;

/// What stands before a fingerprint.
const SHA: &str = "sha256:";

/// SHA-256 of a certificate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; BYTES]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SHA}{}", hex(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What is wrong with a text that should be a fingerprint, a token, or lines of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// A line without a fingerprint.
    #[error("line {0} has no fingerprint such as sha256:0123…, 64 digits")]
    Fingerprint(usize),
    /// Nothing usable after it.
    #[error("line {0} has no token behind its fingerprint, 64 digits")]
    Token(usize),
    /// No line at all.
    #[error("no line has a fingerprint and a token")]
    Empty,
}

impl FromStr for Fingerprint {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let digits = text.strip_prefix(SHA);
        let bytes = digits.and_then(unhex);
        bytes.map(Self).ok_or(TokenError::Fingerprint(1))
    }
}

/// The secret with which an agent is reached once.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; BYTES]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(not shown)")
    }
}

impl Token {
    /// Of random bytes.
    pub fn new(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    /// For whoever may read it.
    pub fn expose(&self) -> String {
        hex(&self.0)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

/// The tokens of agents by the fingerprints of their certificates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens(Vec<(Fingerprint, Token)>);

impl Tokens {
    /// Reads lines as agents print them: words, of which one is a fingerprint and the next one its token.
    ///
    /// # Errors
    /// A line without them, or no line; the error does not quote it.
    pub fn read(text: &str) -> Result<Self, TokenError> {
        let mut all = Vec::new();
        let lines = text.lines().enumerate();
        for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let number = at + 1;
            let mut words = line.split_whitespace().map(|word| word.trim_matches(','));
            let fingerprint = words.find_map(|word| word.parse::<Fingerprint>().ok());
            let fingerprint = fingerprint.ok_or(TokenError::Fingerprint(number))?;
            let token = words.find_map(unhex).ok_or(TokenError::Token(number))?;
            all.push((fingerprint, Token(token)));
        }
        match all.is_empty() {
            true => Err(TokenError::Empty),
            false => Ok(Self(all)),
        }
    }

    /// The token for the agent with this certificate.
    pub fn of(&self, fingerprint: Fingerprint) -> Option<&Token> {
        let mut all = self.0.iter();
        all.find_map(|(of, token)| (*of == fingerprint).then_some(token))
    }

    /// Whose tokens there are.
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        self.0.iter().map(|(of, _)| *of).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn unhex(digits: &str) -> Option<[u8; BYTES]> {
    if digits.len() != BYTES * 2 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; BYTES];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_shortest_round_trip_says_most_of_a_clock() {
        let trip = |sent_ns, received_ns, theirs_ns| Trip {
            sent_ns,
            received_ns,
            theirs_ns,
        };
        assert_eq!(ClockOffset::of(&[]), None);
        // Ours is 1,000 ahead; the long way back of the first one would make it 1,400.
        let trips = [trip(10_000, 11_000, 9_100), trip(20_000, 20_101, 19_050)];
        let found = ClockOffset::of(&trips).expect("trips");
        assert_eq!((found.ahead_ns, found.error_ns), (1_000, 51));
        let later = ClockOffset {
            ahead_ns: 940,
            error_ns: 60,
        };
        assert_eq!(found.drift_ns(later), 60);
    }

    proptest! {
        /// However a trip is split into a way there and a way back, the truth lies within the error.
        #[test]
        fn the_truth_lies_within_the_error(
            ahead in -1_000_000_000_i64..1_000_000_000,
            there in 0_u64..5_000_000,
            back in 0_u64..5_000_000,
        ) {
            let sent_ns = 50_000_000_000_u64;
            let trip = Trip {
                sent_ns,
                received_ns: sent_ns + there + back,
                theirs_ns: (sent_ns + there).saturating_add_signed(-ahead),
            };
            let found = ClockOffset::of(&[trip]).expect("a trip");
            prop_assert!(found.ahead_ns.abs_diff(ahead) <= found.error_ns, "{found:?} {ahead}");
        }

        /// Whatever stands in a file of tokens: no panic, and no quotation.
        #[test]
        fn any_text_is_read_or_refused(text in "[ -~\n]{0,400}") {
            if let Err(error) = Tokens::read(&text) {
                let said = error.to_string();
                prop_assert!(said.len() < 80, "{said}");
            }
        }
    }

    #[test]
    fn tokens_are_found_by_the_fingerprints_before_them() {
        let one = Fingerprint([0xab; BYTES]);
        let token = Token::new([7; BYTES]);
        let line = format!("10.0.0.1:7077 {one} {}\n\n", token.expose());
        let text = format!("{line}{} {}\n", Fingerprint([1; BYTES]), "02".repeat(32));
        let tokens = Tokens::read(&text).expect("two lines");
        assert_eq!(tokens.of(one), Some(&token));
        assert_eq!(tokens.fingerprints().len(), 2);
        assert_eq!(tokens.of(Fingerprint([9; BYTES])), None);
        assert!(!format!("{tokens:?}").contains("0707"), "{tokens:?}");
        for (wrong, error) in [
            ("\n", TokenError::Empty),
            ("x y", TokenError::Fingerprint(1)),
            (&format!("\n{one} 12"), TokenError::Token(2)),
        ] {
            assert_eq!(Tokens::read(wrong), Err(error), "{wrong}");
        }
    }

    #[test]
    fn lines_of_an_agent_are_no_lines_of_a_generator() {
        let said = serde_json::to_string(&AgentLine::Ended(Ended {
            code: None,
            signal: Some(9),
        }))
        .expect("writes");
        assert_eq!(said, r#"{"kind":"ended","signal":9}"#);
        assert!(serde_json::from_str::<crate::sample::SampleLine>(&said).is_err());
        let failure = r#"{"kind":"failure","stage":"run","message":"m","causes":[]}"#;
        assert!(serde_json::from_str::<AgentLine>(failure).is_err());
    }
}
