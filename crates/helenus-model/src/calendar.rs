//! The calendar, in UTC.
//! Refuses time zones, and to know what day it is.

/// Proleptic Gregorian year, month and day of a number of days since 1970-01-01.
pub fn civil(days: i64) -> (i64, u32, u32) {
    // Count from 0000-03-01, so that a leap day ends its year; 146 097 days make 400 years.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
    let month = (if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    }) as u32;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// Days since 1970-01-01 of a proleptic Gregorian date; none where the calendar does not have it, or beyond ten million
/// years.
pub fn days(year: i64, month: u32, day: u32) -> Option<i64> {
    let leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
    let last = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) || year.unsigned_abs() > 10_000_000 {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let from_march = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

#[cfg(test)]
mod tests {
    use super::{civil, days};

    #[test]
    fn dates_have_their_days() {
        for day in (-800_000..800_000).step_by(7) {
            let (year, month, date) = civil(day);
            assert_eq!(days(year, month, date), Some(day));
        }
        assert_eq!(days(2023, 2, 29), None);
        assert_eq!(days(2024, 2, 29), Some(19_782));
        assert_eq!(days(2024, 13, 1), None);
    }

    #[test]
    fn days_have_their_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(11_017), (2000, 3, 1));
        assert_eq!(civil(20_088), (2024, 12, 31));
        assert_eq!(civil(-719_468), (0, 3, 1));
    }
}
