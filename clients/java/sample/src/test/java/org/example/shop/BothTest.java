package org.example.shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import org.helenus.junit.Cassandra;
import org.helenus.junit.HelenusTest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;

@HelenusTest
class BothTest {
  @BeforeEach
  void tables(CqlSession session, Cassandra cassandra) {
    session.execute(Users.TABLE);
    session.execute(Stock.TABLE);
    System.out.println("cluster " + cassandra.name() + " by process " + ProcessHandle.current().pid());
  }

  @RepeatedTest(3)
  void everyUserTakesOne(CqlSession session) {
    Users users = new Users(session);
    Stock stock = new Stock(session);
    stock.set("ship", 5);
    for (int id = 0; id < 5; id++) {
      users.add(id, "user " + id);
      assertTrue(stock.take("ship"), () -> "the ship is there");
    }
    assertEquals(0, stock.left("ship"));
  }
}
