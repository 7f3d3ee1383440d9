package org.example.shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import org.helenus.junit.Cassandra;
import org.helenus.junit.HelenusTest;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

@HelenusTest
class StockTest {
  private Stock stock;

  @BeforeEach
  void table(CqlSession session, Cassandra cassandra) {
    session.execute(Stock.TABLE);
    stock = new Stock(session);
    System.out.println("cluster " + cassandra.name() + " by process " + ProcessHandle.current().pid());
  }

  @Test
  void theLastOneIsTakenOnce() {
    stock.set("ship", 1);
    assertTrue(stock.take("ship"));
    assertFalse(stock.take("ship"));
    assertEquals(0, stock.left("ship"));
  }

  @Test
  void whatNobodyHasCannotBeTaken() {
    assertFalse(stock.take("horse"));
  }
}
