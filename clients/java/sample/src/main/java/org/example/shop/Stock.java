package org.example.shop;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;

/** How much of each thing is left. */
public final class Stock {
  public static final String TABLE = "CREATE TABLE stock (thing text PRIMARY KEY, left int)";

  private final CqlSession session;
  private final PreparedStatement set;
  private final PreparedStatement take;
  private final PreparedStatement select;

  public Stock(CqlSession session) {
    this.session = session;
    set = session.prepare("INSERT INTO stock (thing, left) VALUES (?, ?)");
    take = session.prepare("UPDATE stock SET left = ? WHERE thing = ? IF left = ?");
    select = session.prepare("SELECT left FROM stock WHERE thing = ?");
  }

  public void set(String thing, int count) {
    session.execute(set.bind(thing, count));
  }

  public int left(String thing) {
    Row row = session.execute(select.bind(thing)).one();
    return row == null ? 0 : row.getInt("left");
  }

  /** Takes one, unless another was quicker or nothing is left. */
  public boolean take(String thing) {
    int left = left(thing);
    return left > 0 && session.execute(take.bind(left - 1, thing, left)).wasApplied();
  }
}
