package org.helenus.junit;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A test that starts Cassandra: NOT RUN where there is no binary, which is a failure where HELENUS_NOT_RUN=fail. */
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(RealCassandra.Condition.class)
@interface RealCassandra {
  /** Whether the binary is there. */
  class Condition implements ExecutionCondition {
    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
      try {
        Engine.binary();
        return ConditionEvaluationResult.enabled("the binary is there");
      } catch (HelenusException missing) {
        if ("fail".equals(System.getenv("HELENUS_NOT_RUN"))) {
          throw missing;
        }
        System.err.println("NOT RUN: " + context.getDisplayName() + " (" + missing.hint() + ")");
        return ConditionEvaluationResult.disabled(missing.getMessage());
      }
    }
  }
}
