package org.example.shop;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import java.util.Optional;

/** Users by their number. */
public final class Users {
  public static final String TABLE = "CREATE TABLE users (id int PRIMARY KEY, name text)";

  private final CqlSession session;
  private final PreparedStatement insert;
  private final PreparedStatement select;

  public Users(CqlSession session) {
    this.session = session;
    insert = session.prepare("INSERT INTO users (id, name) VALUES (?, ?)");
    select = session.prepare("SELECT name FROM users WHERE id = ?");
  }

  public void add(int id, String name) {
    session.execute(insert.bind(id, name));
  }

  public Optional<String> name(int id) {
    Row row = session.execute(select.bind(id)).one();
    return Optional.ofNullable(row).map(found -> found.getString("name"));
  }
}
