package org.example.shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.datastax.oss.driver.api.core.CqlSession;
import java.util.Optional;
import org.helenus.junit.Cassandra;
import org.helenus.junit.HelenusTest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@HelenusTest
class UsersTest {
  private Users users;

  @BeforeEach
  void table(CqlSession session, Cassandra cassandra) {
    session.execute(Users.TABLE);
    users = new Users(session);
    System.out.println("cluster " + cassandra.name() + " by process " + ProcessHandle.current().pid());
  }

  @Test
  void whoWasAddedIsFound() {
    users.add(1, "Hecuba");
    assertEquals(Optional.of("Hecuba"), users.name(1));
  }

  @Test
  void nobodyElseIs() {
    assertEquals(Optional.empty(), users.name(1));
  }
}
