//! How a group's parameters are read: sets of options, the first set that takes them all and lacks nothing.
//! Refuses a parameter that no set takes, with the nearest one that is.

use super::error::StressError;
use super::spec::{GROUPS, sets};
use crate::dist::{Dist, RatioDist, whole_number};
use crate::nearest::nearest;

/// One parameter: its beginning and what may follow.
#[derive(Debug)]
pub(super) struct Opt {
    /// What it begins with, in lower case but for camel-cased names; `=` included.
    pub(super) prefix: &'static str,
    /// What follows.
    pub(super) form: Form,
    /// The value where it is not given.
    pub(super) default: Option<&'static str>,
    /// Without it the set is not meant.
    pub(super) required: bool,
    /// For help.
    pub(super) about: &'static str,
}

/// What follows a prefix.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// Nothing.
    Flag,
    /// Anything.
    Any,
    /// Anything but nothing.
    Some,
    /// Digits.
    Digits,
    /// Digits with `k`, `m` or `b`.
    Number,
    /// Digits and `/s`.
    PerSecond,
    /// Digits and a unit of time.
    Time,
    /// `0.` and digits.
    Share,
    /// Digits, perhaps with a point and digits.
    Decimal,
    /// `a..b`.
    Range,
    /// Digits, perhaps with `ms` or `s`.
    Interval,
    /// A version of the protocol.
    Protocol,
    /// Host names with commas between.
    Hosts,
    /// One of these words, in any case.
    Word(&'static [&'static str]),
    /// A distribution.
    Dist,
    /// A distribution and a divisor.
    Ratio,
    /// `(a=1,b=2)`; names that are known with what follows them, and whether others are taken.
    Pairs(&'static [(&'static str, Form)], bool),
}

/// A set of options that go together.
pub(super) type Set = Vec<&'static Opt>;

/// What was given of one set.
#[derive(Debug)]
pub(super) struct Found {
    group: String,
    set: Set,
    values: Vec<(&'static str, String)>,
    /// Which of the sets it is.
    pub(super) place: usize,
}

impl Form {
    fn takes(self, value: &str) -> bool {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let lower = value.to_ascii_lowercase();
        let number = |text: &str| {
            let bare = text.strip_suffix(['k', 'm', 'b']).unwrap_or(text);
            digits(bare)
        };
        match self {
            Self::Flag => value.is_empty(),
            Self::Any | Self::Pairs(..) | Self::Dist => true,
            Self::Some => !value.is_empty(),
            Self::Digits => digits(value),
            Self::Number => number(&lower),
            Self::PerSecond => lower.strip_suffix("/s").is_some_and(digits),
            Self::Time => lower.strip_suffix(['s', 'm', 'h', 'd']).is_some_and(digits),
            Self::Share => value.strip_prefix("0.").is_some_and(digits),
            Self::Decimal => {
                let (whole, part) = value.split_once('.').unwrap_or((value, "0"));
                digits(whole) && digits(part)
            }
            Self::Range => lower
                .split_once("..")
                .is_some_and(|(a, b)| number(a) && number(b.trim_start_matches('.'))),
            Self::Interval => {
                let bare = lower.strip_suffix('s').unwrap_or(&lower);
                digits(
                    bare.strip_suffix('m')
                        .filter(|_| bare != lower)
                        .unwrap_or(bare),
                )
            }
            Self::Protocol => {
                matches!(value, "2" | "3" | "4" | "5")
                    || matches!(lower.as_str(), "newest_supported" | "default")
            }
            Self::Hosts => {
                !value.is_empty() && value.split(',').all(|h| !h.is_empty() && !h.contains('='))
            }
            Self::Word(words) => words.iter().any(|word| word.eq_ignore_ascii_case(value)),
            Self::Ratio => value
                .rsplit_once('/')
                .is_some_and(|(_, by)| number(&by.to_ascii_lowercase())),
        }
    }

    /// In words, for errors and help.
    pub(super) fn words(self) -> String {
        match self {
            Self::Flag => "it takes no value".to_owned(),
            Self::Any | Self::Some => "a text".to_owned(),
            Self::Digits => "a whole number".to_owned(),
            Self::Number => "a whole number, as in 500, 10k, 2m or 1b".to_owned(),
            Self::PerSecond => "operations per second, as in 1000/s".to_owned(),
            Self::Time => "a time, as in 30s, 5m, 2h or 1d".to_owned(),
            Self::Share => "a share below one, as in 0.02".to_owned(),
            Self::Decimal => "a weight, as in 1 or 0.5".to_owned(),
            Self::Range => "a range, as in 1..1M".to_owned(),
            Self::Interval => "a time, as in 1s or 500ms".to_owned(),
            Self::Protocol => "a protocol version, as in 4".to_owned(),
            Self::Hosts => "hosts separated by commas, as in 10.0.0.1,10.0.0.2".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Dist => "a distribution, as in uniform(1..10)".to_owned(),
            Self::Ratio => "a distribution and a divisor, as in fixed(1)/2".to_owned(),
            Self::Pairs(known, _) => {
                let each: Vec<String> = known.iter().map(|(name, _)| format!("{name}=…")).collect();
                format!("names and values in parentheses: ({})", each.join(","))
            }
        }
    }
}

impl Opt {
    /// What follows its prefix, where a parameter begins with it.
    fn rest<'a>(&self, parameter: &'a str) -> Option<&'a str> {
        let head = parameter.get(..self.prefix.len())?;
        if !head.eq_ignore_ascii_case(self.prefix) {
            return None;
        }
        let rest = &parameter[self.prefix.len()..];
        match self.form {
            Form::Pairs(..) => rest.strip_prefix('(')?.strip_suffix(')'),
            _ => Some(rest),
        }
    }

    /// As it is written, its value left out.
    pub(super) fn shown(&self) -> String {
        match self.form {
            Form::Flag => self.prefix.to_owned(),
            Form::Pairs(..) => format!("{}(…)", self.prefix),
            _ if self.prefix.is_empty() => "hosts".to_owned(),
            _ => format!("{}…", self.prefix),
        }
    }
}

/// The first set that takes all parameters and lacks nothing that it requires.
pub(super) fn select(
    group: &str,
    parameters: &[String],
    sets: &[Set],
) -> Result<Found, StressError> {
    let mut given: Vec<Vec<(&'static str, String)>> = vec![Vec::new(); sets.len()];
    let mut refused = vec![false; sets.len()];
    for parameter in parameters {
        let mut taken = false;
        for (place, set) in sets.iter().enumerate() {
            match take(group, parameter, set, &mut given[place])? {
                true => taken = true,
                false => refused[place] = true,
            }
        }
        if !taken {
            return Err(unknown(group, parameter, sets));
        }
    }
    let happy = |place: &usize| {
        let has = |prefix| given[*place].iter().any(|(p, _)| *p == prefix);
        let lacks = sets[*place].iter().any(|o| o.required && !has(o.prefix));
        !refused[*place] && !lacks
    };
    let Some(place) = (0..sets.len()).find(happy) else {
        let lacking = (0..sets.len()).find(|place| !refused[*place]);
        if let Some(place) = lacking.filter(|_| !parameters.is_empty()) {
            let has = |prefix| given[place].iter().any(|(p, _)| *p == prefix);
            let mut needed = sets[place].iter().filter(|o| o.required && !has(o.prefix));
            if let Some(option) = needed.next_back() {
                return Err(StressError::Lacks {
                    group: group.to_owned(),
                    option: option.shown(),
                });
            }
        }
        return Err(StressError::Together {
            group: group.to_owned(),
            forms: sets.iter().map(|set| shown(group, set)).collect(),
        });
    };
    Ok(Found {
        group: group.to_owned(),
        set: sets[place].clone(),
        values: given.swap_remove(place),
        place,
    })
}

/// A set as one line.
pub(super) fn shown(group: &str, set: &Set) -> String {
    let each = set.iter().map(|option| {
        let text = option.shown();
        if option.required {
            text
        } else {
            format!("[{text}]")
        }
    });
    let words: Vec<String> = std::iter::once(group.to_owned()).chain(each).collect();
    words.join(" ")
}

fn take(
    group: &str,
    parameter: &str,
    set: &Set,
    given: &mut Vec<(&'static str, String)>,
) -> Result<bool, StressError> {
    let mut found = set
        .iter()
        .filter_map(|option| option.rest(parameter).map(|rest| (option, rest)));
    let Some((option, rest)) = found.next() else {
        return Ok(false);
    };
    let group = || group.to_owned();
    if !option.form.takes(rest) {
        // `ignored` begins with `ignore`, and is another word.
        let other = matches!(option.form, Form::Flag);
        return Err(if other {
            unknown(&group(), parameter, std::slice::from_ref(set))
        } else {
            StressError::Value {
                group: group(),
                parameter: parameter.to_owned(),
                form: option.form.words(),
            }
        });
    }
    if given.iter().any(|(prefix, _)| *prefix == option.prefix) {
        return Err(StressError::Repeated {
            group: group(),
            option: option.shown(),
        });
    }
    if let Form::Pairs(known, others) = option.form {
        pairs(rest, known, others).map_err(|why| StressError::Pair {
            group: group(),
            parameter: parameter.to_owned(),
            why,
        })?;
    }
    given.push((option.prefix, rest.to_owned()));
    Ok(true)
}

fn unknown(group: &str, parameter: &str, sets: &[Set]) -> StressError {
    let all: Vec<&'static Opt> = sets.iter().flatten().copied().collect();
    let name = |text: &str| {
        let end = text.find(['=', '(', '<', '>']).unwrap_or(text.len());
        text[..end].to_owned()
    };
    let wanted = name(parameter);
    let near = nearest(
        &wanted,
        all.iter()
            .map(|o| o.prefix.trim_end_matches(['=', '<', '>'])),
    );
    // Of several with one name the one that is written alike.
    let sign = |text: &str| text[name(text).len()..].chars().next();
    let near = near.and_then(|near| {
        let mut same = all.iter().filter(|o| name(o.prefix) == near);
        let alike = same.clone().find(|o| sign(o.prefix) == sign(parameter));
        alike.or_else(|| same.next())
    });
    let mut known: Vec<String> = Vec::new();
    for option in all.iter().map(|option| option.shown()) {
        if !known.contains(&option) {
            known.push(option);
        }
    }
    StressError::Parameter {
        group: group.to_owned(),
        parameter: parameter.to_owned(),
        nearest: near.map(|option| option.shown()),
        elsewhere: elsewhere(parameter, group.starts_with('-')),
        known,
    }
}

/// The command (where commands are meant, too) or group that takes a parameter, hosts left out.
fn elsewhere(parameter: &str, commands: bool) -> Option<&'static str> {
    let first: &[&'static str] = if commands { &["mixed", "user"] } else { &[] };
    let groups = GROUPS.iter().map(|(name, _)| *name);
    let names = first.iter().copied().chain(groups);
    let mut places = names.filter(|name| {
        let sets = sets(name).unwrap_or_default();
        let mut options = sets.iter().flatten();
        options.any(|o| {
            !o.prefix.is_empty() && o.rest(parameter).is_some_and(|rest| o.form.takes(rest))
        })
    });
    places.next()
}

/// Names and values of what stands in parentheses.
fn pairs(
    text: &str,
    known: &[(&'static str, Form)],
    others: bool,
) -> Result<Vec<(String, String)>, String> {
    let mut read: Vec<(String, String)> = Vec::new();
    let text = text.strip_suffix(',').unwrap_or(text);
    if text.is_empty() {
        return Ok(read);
    }
    for part in text.split(',') {
        let (name, value) = part
            .split_once('=')
            .filter(|(name, value)| !name.is_empty() && !value.is_empty() && !value.contains('='))
            .ok_or_else(|| format!("{part:?} is not name=value"))?;
        let form = known.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        let name = match form {
            Some((known, form)) if form.takes(value) => (*known).to_owned(),
            Some((known, form)) => return Err(format!("{known}= is {}", form.words())),
            None if others => name.to_owned(),
            None => {
                let names = known.iter().map(|(n, _)| *n);
                let near = nearest(name, names.clone());
                let near = near
                    .map(|n| format!("; the nearest is {n}"))
                    .unwrap_or_default();
                let names: Vec<&str> = names.collect();
                return Err(format!("{name:?} is none of {}{near}", names.join(", ")));
            }
        };
        if read.iter().any(|(n, _)| *n == name) {
            return Err(format!("{name:?} is given twice"));
        }
        read.push((name, value.to_owned()));
    }
    Ok(read)
}

impl Found {
    fn option(&self, prefix: &str) -> Option<&'static Opt> {
        self.set.iter().copied().find(|o| o.prefix == prefix)
    }

    /// Whether it was given.
    pub(super) fn is_set(&self, prefix: &str) -> bool {
        self.given(prefix).is_some()
    }

    /// What was given.
    pub(super) fn given(&self, prefix: &str) -> Option<&str> {
        self.values
            .iter()
            .find(|(p, _)| *p == prefix)
            .map(|(_, value)| value.as_str())
    }

    /// What was given, or the default.
    pub(super) fn text(&self, prefix: &str) -> Option<&str> {
        let default = || self.option(prefix).and_then(|option| option.default);
        self.given(prefix).or_else(default)
    }

    fn value_error(&self, prefix: &str, form: Form) -> StressError {
        StressError::Value {
            group: self.group.clone(),
            parameter: format!("{prefix}{}", self.text(prefix).unwrap_or_default()),
            form: form.words(),
        }
    }

    /// A whole number; 0 where there is none.
    pub(super) fn number(&self, prefix: &str) -> Result<u64, StressError> {
        let Some(text) = self.text(prefix) else {
            return Ok(0);
        };
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let suffixed = whole_number(text.strip_suffix("/s").unwrap_or(text));
        let read = suffixed.or_else(|| digits.parse().ok());
        read.and_then(|n| u64::try_from(n).ok())
            .ok_or_else(|| self.value_error(prefix, Form::Number))
    }

    /// A whole number below 2^31, as Java's int has it.
    pub(super) fn small(&self, prefix: &str) -> Result<u32, StressError> {
        let number = self.number(prefix)?;
        match i32::try_from(number) {
            Ok(n) => Ok(n.unsigned_abs()),
            Err(_) => Err(self.value_error(prefix, Form::Digits)),
        }
    }

    /// A distribution, where one is given or the default.
    pub(super) fn dist(&self, prefix: &str) -> Result<Option<Dist>, StressError> {
        let read = |text: &str| {
            text.parse().map_err(|why| StressError::Dist {
                group: self.group.clone(),
                option: prefix.to_owned(),
                why,
            })
        };
        self.text(prefix).map(read).transpose()
    }

    /// A distribution that is always there.
    pub(super) fn dist_or(&self, prefix: &str, otherwise: i64) -> Result<Dist, StressError> {
        Ok(self.dist(prefix)?.unwrap_or_else(|| Dist::fixed(otherwise)))
    }

    /// A ratio, where one is given or the default.
    pub(super) fn ratio(&self, prefix: &str) -> Result<Option<RatioDist>, StressError> {
        let read = |text: &str| {
            let (dist, by) = text.rsplit_once('/').unwrap_or((text, "1"));
            let by = whole_number(by).unwrap_or(0);
            format!("{dist}/{by}")
                .parse()
                .map_err(|why| StressError::Dist {
                    group: self.group.clone(),
                    option: prefix.to_owned(),
                    why,
                })
        };
        self.text(prefix).map(read).transpose()
    }

    /// Names and values in parentheses; none where none are given.
    pub(super) fn pairs(&self, prefix: &str) -> Vec<(String, String)> {
        let Some((Form::Pairs(known, others), text)) = self
            .option(prefix)
            .map(|option| option.form)
            .zip(self.given(prefix))
        else {
            return Vec::new();
        };
        // They were read once when they were taken.
        pairs(text, known, others).unwrap_or_default()
    }
}
