//! Least squares with fixed effects, from data that need not be balanced.
//! Refuses what cannot be estimated: a column that others make up is left out, and a sum over it has no value.

/// A pivot below this share of its column's own square is rounding: the column is made up of earlier ones.
const ALIASED: f64 = 1e-9;

/// An observation: the columns that are not zero with their values, and the response.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Columns with their values.
    pub at: Vec<(usize, f64)>,
    /// The response.
    pub value: f64,
}

/// Coefficients by least squares.
#[derive(Debug, Clone, PartialEq)]
pub struct LeastSquares {
    coefficients: Vec<f64>,
    /// X'X, and a generalised inverse of it.
    products: Vec<Vec<f64>>,
    inverse: Vec<Vec<f64>>,
    /// Sum of the squared residuals.
    pub residual_squares: f64,
    /// Columns that are not made up of earlier ones.
    pub rank: usize,
}

/// A sum of coefficients that the data can estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sum {
    /// Its value.
    pub value: f64,
    /// Its variance over that of one observation.
    pub variance: f64,
}

impl LeastSquares {
    /// The fit of these observations on so many columns, by the sweep operator (Goodnight 1979).
    pub fn of(observations: &[Observation], columns: usize) -> Self {
        let mut products = vec![vec![0.0; columns]; columns];
        let mut right = vec![0.0; columns];
        for one in observations {
            for (row, a) in &one.at {
                right[*row] += a * one.value;
                for (column, b) in &one.at {
                    products[*row][*column] += a * b;
                }
            }
        }
        let (inverse, rank) = swept(&products);
        let coefficients: Vec<f64> = inverse.iter().map(|row| dot(row, &right)).collect();
        let residuals = observations.iter().map(|one| {
            let fitted = one.at.iter().map(|(column, a)| a * coefficients[*column]);
            one.value - fitted.sum::<f64>()
        });
        Self {
            residual_squares: residuals.map(|residual| residual * residual).sum(),
            coefficients,
            products,
            inverse,
            rank,
        }
    }

    /// A coefficient; 0 of a column that is made up of earlier ones.
    pub fn coefficient(&self, column: usize) -> f64 {
        self.coefficients[column]
    }

    /// The sum of the coefficients by these weights, one for each column; none where the data cannot estimate it.
    pub fn sum(&self, weights: &[f64]) -> Option<Sum> {
        let spread: Vec<f64> = self.inverse.iter().map(|row| dot(row, weights)).collect();
        let most = weights.iter().fold(0.0_f64, |most, w| most.max(w.abs()));
        let again = self.products.iter().map(|row| dot(row, &spread));
        let same = again
            .zip(weights)
            .all(|(a, w)| (a - w).abs() <= most * 1e-6);
        same.then(|| Sum {
            value: dot(&self.coefficients, weights),
            variance: dot(&spread, weights).max(0.0),
        })
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A generalised inverse of a symmetric matrix, and its rank.
fn swept(of: &[Vec<f64>]) -> (Vec<Vec<f64>>, usize) {
    let mut a = of.to_vec();
    let mut rank = 0;
    for pivot in 0..a.len() {
        let size = a[pivot][pivot];
        if size <= ALIASED * of[pivot][pivot] {
            a.iter_mut().for_each(|row| row[pivot] = 0.0);
            a[pivot].fill(0.0);
            continue;
        }
        rank += 1;
        a[pivot].iter_mut().for_each(|value| *value /= size);
        let swept = a[pivot].clone();
        for (_, row) in a.iter_mut().enumerate().filter(|(p, _)| *p != pivot) {
            let factor = row[pivot];
            if factor == 0.0 {
                continue;
            }
            row.iter_mut()
                .zip(&swept)
                .for_each(|(v, s)| *v -= factor * s);
            row[pivot] = -factor / size;
        }
        a[pivot][pivot] = 1.0 / size;
    }
    (a, rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(columns: &[usize], value: f64) -> Observation {
        let at = columns.iter().map(|column| (*column, 1.0)).collect();
        Observation { at, value }
    }

    #[test]
    fn a_block_design_with_a_run_missing_as_by_hand() {
        // Two blocks (columns 0, 1), two treatments (2, 3), the second treatment missing in the second block.
        let data = [at(&[0, 2], 1.0), at(&[0, 3], 3.0), at(&[1, 2], 5.0)];
        let fit = LeastSquares::of(&data, 4);
        assert_eq!(fit.rank, 3);
        let found = fit.sum(&[0.0, 0.0, -1.0, 1.0]).unwrap();
        assert!((found.value - 2.0).abs() < 1e-12 && (found.variance - 2.0).abs() < 1e-12);
        assert!(fit.residual_squares < 1e-20);
        // A treatment alone is no contrast.
        assert_eq!(fit.sum(&[0.0, 0.0, 0.0, 1.0]), None);
    }

    #[test]
    fn treatments_that_share_no_block_are_not_compared() {
        let data = [at(&[0, 2], 1.0), at(&[0, 2], 2.0), at(&[1, 3], 5.0)];
        let fit = LeastSquares::of(&data, 4);
        assert_eq!(fit.sum(&[0.0, 0.0, -1.0, 1.0]), None);
        assert!((fit.residual_squares - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_straight_line_as_by_hand() {
        let line = |x: f64, value: f64| Observation {
            at: vec![(0, 1.0), (1, x)],
            value,
        };
        let fit = LeastSquares::of(&[line(0.0, 1.0), line(1.0, 2.0), line(2.0, 4.0)], 2);
        let slope = fit.sum(&[0.0, 1.0]).unwrap();
        assert!((slope.value - 1.5).abs() < 1e-12 && (slope.variance - 0.5).abs() < 1e-12);
        assert!((fit.residual_squares - 1.0 / 6.0).abs() < 1e-12);
    }
}
