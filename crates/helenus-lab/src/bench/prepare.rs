//! The tables of a bench, and whether its replication can serve what is about to run.
//! Refuses before the first statement is sent.

use super::{Bench, BenchError, Where};
use crate::serving::{self, Asked};
use crate::target::{self, Target};
use helenus_cql::ConnectOptions;

impl Bench<'_> {
    pub(super) fn prepare(&mut self) -> Result<(), BenchError> {
        let Some(target) = &self.target else {
            return Ok(());
        };
        target::fits(target, &self.request.workload)?;
        let asked = self.request.replication_factor.as_ref();
        let workload = &self.request.workload;
        let statements = workload.schema(&target.replication(asked), asked.is_some());
        self.served(target, &statements)?;
        Ok(target::prepare(target, &statements)?)
    }

    /// Refuses what no replication that is there, or is about to be made, can serve, and another than was asked for.
    fn served(&self, target: &Target, statements: &[String]) -> Result<(), BenchError> {
        let request = self.request;
        let factor = request.replication_factor.as_ref();
        if !request.must_be_served && factor.is_none() {
            return Ok(());
        }
        let given = match &request.place {
            Where::Hosts { given, .. } => given.options.clone(),
            Where::Cluster(_) | Where::Ephemeral(_) | Where::Kube { .. } => {
                ConnectOptions::default()
            }
        };
        let local = request.client_dc.as_ref().or(target.data_center.as_ref());
        let asked = Asked {
            workload: &request.workload,
            phases: &request.shape.phases(self.rate_per_s),
            level: request.consistency,
            local: local.map_or("", String::as_str),
            statements,
            replication_factor: factor,
            must_be_served: request.must_be_served,
            options: &given,
        };
        Ok(serving::served(target, &asked)?)
    }
}
