//! Moments as people write them: the calendar in UTC, from nanoseconds since 1970.
//! Refuses time zones: a list that was made elsewhere must say the same.

use helenus_model::calendar::civil;
use std::fmt;

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// From the first of January 1970 on, a Thursday.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// A moment in UTC, shown as `2026-11-21 09:20:30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utc {
    /// Year.
    pub year: u64,
    /// Month, from 1.
    pub month: u64,
    /// Day of the month, from 1.
    pub day: u64,
    /// Second of the day, from 0.
    pub second_of_day: u64,
    /// Milliseconds of the second.
    pub millisecond: u64,
    days: u64,
}

impl Utc {
    /// The moment so many nanoseconds after the beginning of 1970.
    pub fn of_ns(wall_ns: u64) -> Self {
        let seconds = wall_ns / 1_000_000_000;
        let days = seconds / 86_400;
        let (year, month, day) = civil(i64::try_from(days).unwrap_or_default());
        Self {
            year: year.unsigned_abs(),
            month: month.into(),
            day: day.into(),
            second_of_day: seconds % 86_400,
            millisecond: wall_ns / 1_000_000 % 1000,
            days,
        }
    }

    /// To the minute, for tables: `2026-11-21 09:20`.
    pub fn to_minute(self) -> String {
        let text = self.to_string();
        text.get(..16).unwrap_or(&text).to_owned()
    }

    /// As ISO 8601 and RFC 3339 write it: `2026-11-21T09:20:30.123Z`.
    pub fn iso(self) -> String {
        format!(
            "{:.10}T{}.{:03}Z",
            self.to_string(),
            self.clock(),
            self.millisecond
        )
    }

    /// As Java writes a date, and with it HdrHistogram's logs: `Sat Nov 21 09:20:30 UTC 2026`.
    pub fn java(self) -> String {
        let index = |n: u64| usize::try_from(n).unwrap_or_default();
        let weekday = WEEKDAYS[index(self.days % 7)];
        let month = MONTHS.get(index(self.month - 1)).copied().unwrap_or("Jan");
        format!(
            "{weekday} {month} {:02} {} UTC {}",
            self.day,
            self.clock(),
            self.year
        )
    }

    fn clock(self) -> String {
        let s = self.second_of_day;
        format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
    }
}

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:04}-{:02}-{:02} {}",
            self.year,
            self.month,
            self.day,
            self.clock()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Utc;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |s: u64| Utc::of_ns(s * 1_000_000_000);
        assert_eq!(at(0).java(), "Thu Jan 01 00:00:00 UTC 1970");
        assert_eq!(at(951_782_400).to_string(), "2000-02-29 00:00:00");
        assert_eq!(at(951_868_800).to_string(), "2000-03-01 00:00:00");
        assert_eq!(at(1_735_689_599).to_string(), "2024-12-31 23:59:59");
        assert_eq!(at(1_690_000_000).java(), "Sat Jul 22 04:26:40 UTC 2023");
        assert_eq!(
            Utc::of_ns(1_690_000_000_123_000_000).iso(),
            "2023-07-22T04:26:40.123Z"
        );
        assert_eq!(at(1_690_000_000).to_minute(), "2023-07-22 04:26");
    }
}
