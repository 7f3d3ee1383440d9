"use strict";
// The page's own script. The charts are there without it: it tells values under the pointer, zooms all charts over time
// together, hides what the reader switches off, and sorts tables. All of that begins when the page has been painted.
try {
  var theme = localStorage.getItem("helenus-theme");
  if (theme === "light" || theme === "dark") { document.documentElement.setAttribute("data-theme", theme); }
} catch (forgets) { }
requestAnimationFrame(function () { setTimeout(start, 0); });
function start() {
  var root = document.documentElement;
  var prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  // The stretch of time that all charts show, as shares of the whole.
  var range = [0, 1];
  // Units of a path: so many to a drawing's width, and to a pixel of its height.
  var WIDTH = 10000, PIXEL = 100, NEAR = 14, SVG = "http://www.w3.org/2000/svg";

  function all(selector, from) { return Array.prototype.slice.call((from || document).querySelectorAll(selector)); }

  function element(name, attributes, parent) {
    var made = document.createElementNS(SVG, name);
    Object.keys(attributes).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    return parent.appendChild(made);
  }

  // A path's points in units, its parts apart: the first point of a part is absolute, the others are steps.
  function parsed(path) {
    return path.split("M").slice(1).map(function (part) {
      var numbers = (part.split("V")[0].match(/-?\d+/g) || []).map(Number), points = [], x = 0, y = 0;
      for (var i = 0; i + 1 < numbers.length; i += 2) { points.push([x += numbers[i], y += numbers[i + 1]]); }
      return points;
    });
  }

  // A chart whose lines tell their values.
  function Chart(figure) {
    var svg = figure.querySelector("svg.area"), said = svg.dataset;
    this.figure = figure;
    this.svg = svg;
    this.plot = svg.parentNode;
    this.height = Number(svg.getAttribute("height"));
    this.over_time = figure.classList.contains("time");
    this.of = said.of;
    this.shares = said.shares === "yes";
    this.axis = { x: [said.x, Number(said.x0), Number(said.x1)], y: [said.y, Number(said.y0), Number(said.y1)] };
    this.lines = all("svg.lines .line", svg).map(function (path) {
      return { path: path, group: path.parentNode, name: path.dataset.name, unit: path.dataset.unit || "",
        area: path.classList.contains("stacked") };
    });
    // Of a stack the highest is drawn first: as the legend has them, the lowest is first.
    if (this.lines.some(function (line) { return line.area; })) { this.lines.reverse(); }
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    this.plot.appendChild(this.tip);
    this.over = element("g", { "class": "over" }, svg);
  }

  function value(axis, share) {
    return axis[0] === "log" ? axis[1] * Math.pow(axis[2] / axis[1], share) : axis[1] + (axis[2] - axis[1]) * share;
  }

  function share(axis, value) {
    return axis[0] === "log" ? Math.log(value / axis[1]) / Math.log(axis[2] / axis[1]) : (value - axis[1]) / (axis[2] - axis[1]);
  }

  function told(number) {
    if (Math.abs(number) < 1e-9) { return "0"; }
    return Math.abs(number) >= 1000 ? Math.round(number).toLocaleString("en") : String(Number(number.toPrecision(4)));
  }

  Chart.prototype.worth = function (units) { return value(this.axis.y, 1 - units / PIXEL / this.height); };

  Chart.prototype.words = function (number, unit) {
    return this.shares ? told(number * 100) + " %" : told(number) + (unit ? " " + unit : "");
  };

  Chart.prototype.where = function (units) {
    var x = value(this.axis.x, units / WIDTH);
    if (this.of !== "percentile") { return x.toFixed(1).replace(/^-0\.0$/, "0.0") + " " + this.of; }
    return (100 - 100 / x).toFixed(Math.max(1, Math.ceil(Math.log10(x)) - 1)).replace(/\.?0+$/, "") + " %";
  };

  // The point of a line next to these units; none where the line has none near. A path is read when it is first asked.
  function nearest(line, units, near) {
    var best = null;
    line.parts = line.parts || parsed(line.path.getAttribute("d"));
    line.parts.forEach(function (part) {
      var low = 0, high = part.length - 1;
      while (high - low > 1) {
        var middle = (low + high) >> 1;
        if (part[middle][0] < units) { low = middle; } else { high = middle; }
      }
      var inside = part[0][0] <= units && units <= part[part.length - 1][0];
      [low, high].forEach(function (place) {
        var point = part[place], far = Math.abs(point[0] - units);
        if ((inside || far <= near) && (!best || far < best.far)) { best = { point: point, far: far, part: part, place: place }; }
      });
    });
    return best;
  }

  // The crosshair, and the values of all lines there.
  Chart.prototype.tell = function (event) {
    var box = this.svg.getBoundingClientRect(), at = (event.clientX - box.left) / box.width;
    if (at < -0.01 || at > 1.01) { this.quiet(); return; }
    var view = this.over_time ? range : [0, 1], length = view[1] - view[0];
    var units = (view[0] + at * length) * WIDTH, near = NEAR / box.width * length * WIDTH, self = this, below = 0;
    this.over.textContent = "";
    this.tip.textContent = "";
    element("line", { x1: at * 100 + "%", x2: at * 100 + "%", y2: this.height }, this.over);
    this.row("", this.where(units)).className = "at";
    this.lines.forEach(function (line) {
      if (line.group.classList.contains("off")) { return; }
      var found = nearest(line, units, near);
      if (!found) { return; }
      var worth = self.worth(found.point[1]), own = line.area ? worth - below : worth;
      if (line.area) { below = worth; }
      var x = (found.point[0] / WIDTH - view[0]) / length;
      if (x >= 0 && x <= 1) {
        element("circle", { "class": line.group.getAttribute("class"), cx: x * 100 + "%", cy: found.point[1] / PIXEL, r: 3.5 }, self.over);
      }
      self.row(line.group.getAttribute("class"), line.name + ": " + self.words(own, line.unit));
    });
    this.tip.hidden = false;
    // Beside the crosshair, on the side with more room.
    var left = box.left - this.plot.getBoundingClientRect().left + at * box.width;
    var wide = this.tip.offsetWidth, right = left + 14, full = this.plot.clientWidth;
    this.tip.style.left = Math.max(0, at < 0.5 ? Math.min(right, full - wide) : left - wide - 14) + "px";
  };

  Chart.prototype.row = function (style, words) {
    var row = document.createElement("div");
    row.className = style;
    row.textContent = words;
    return this.tip.appendChild(row);
  };

  Chart.prototype.quiet = function () {
    this.tip.hidden = true;
    this.over.textContent = "";
  };

  // What is still shown of a stack stands on what is shown below it.
  Chart.prototype.restack = function () {
    var stack = this.lines.filter(function (line) { return line.area; }), base = this.height * PIXEL, sums = {};
    var tops = stack.map(function (line) { return line.own || (line.own = parsed(line.path.getAttribute("d"))); });
    stack.forEach(function (line, place) {
      if (line.group.classList.contains("off")) { return; }
      line.parts = tops[place].map(function (part, p) {
        return part.map(function (point, i) {
          var under = place ? tops[place - 1][p][i][1] : base, key = p + " " + i;
          sums[key] = (sums[key] || 0) + under - point[1];
          return [point[0], base - sums[key]];
        });
      });
      line.path.setAttribute("d", line.parts.map(function (part) {
        return "M" + part.map(function (point) { return point.join(" "); }).join("L") + "V" + base + "H" + part[0][0] + "z";
      }).join(""));
    });
  };

  // Ticks of 1, 2 or 5 times a power of ten, as many as there is room for.
  Chart.prototype.ticks = function (width) {
    var from = value(this.axis.x, range[0]), to = value(this.axis.x, range[1]);
    var least = (to - from) / Math.max(2, Math.floor(width / 90)), power = Math.pow(10, Math.floor(Math.log10(least)));
    var step = power * [1, 2, 5, 10].find(function (n) { return n * power >= least * (1 - 1e-9); });
    var group = this.svg.querySelector("g.x"), decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    group.textContent = "";
    for (var n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-9; n++) {
      var x = (n * step - from) / (to - from) * 100 + "%";
      element("line", { x1: x, x2: x, y2: this.height }, group);
      element("text", { x: x, y: this.height, dy: 18 }, group).textContent =
        (n * step + 0).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    }
  };

  Chart.prototype.show = function (width) {
    var length = range[1] - range[0], self = this;
    all("svg.behind, svg.lines", this.svg).forEach(function (inner) {
      var box = inner.getAttribute("viewBox").split(" ");
      inner.setAttribute("viewBox", [range[0] * WIDTH, box[1], length * WIDTH, box[3]].join(" "));
    });
    all(".moment", this.svg).forEach(function (word) {
      var x = (share(self.axis.x, Number(word.dataset.at)) - range[0]) / length;
      word.setAttribute("x", x * 100 + "%");
      word.classList.toggle("end", x > 0.6);
      word.classList.toggle("off", x < 0 || x > 1);
    });
    width = width || this.svg.getBoundingClientRect().width;
    this.quiet();
    // What is folded away is drawn when it opens.
    if (!width) { return; }
    this.ticks(width);
    apart(all(".moment", this.svg), 2);
  };

  // Words that would lie over others before them go up a line, as far as that helps; then they go.
  function apart(words, lines) {
    var kept = [];
    words.forEach(function (word) {
      word.classList.remove("over-others");
      word.removeAttribute("transform");
      if (word.classList.contains("off")) { return; }
      for (var line = 0; line <= lines; line++) {
        if (line) { word.setAttribute("transform", "translate(0 " + -13 * line + ")"); }
        var box = word.getBoundingClientRect();
        var hits = kept.some(function (k) {
          return box.left < k.right + 4 && k.left < box.right + 4 && box.top < k.bottom - 2 && k.top < box.bottom - 2;
        });
        if (!hits) { kept.push(box); return; }
      }
      word.classList.add("over-others");
    });
  }

  var charts = all("figure.chart").filter(function (figure) { return figure.querySelector("svg.area").dataset.of; })
    .map(function (figure) { return new Chart(figure); });
  var timed = charts.filter(function (chart) { return chart.over_time; });

  function showAll(width) { timed.forEach(function (chart) { chart.show(width); }); }

  function fit() {
    showAll();
    all("figure.chart:not(.time) g.x").forEach(function (group) { apart(all("text", group), 0); });
  }

  charts.forEach(function (chart) {
    var plot = chart.plot, begin = null, veil = null;
    function at(event) {
      var box = chart.svg.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    }
    plot.addEventListener("pointermove", function (event) {
      if (begin === null) { chart.tell(event); return; }
      var ends = [begin, at(event)].sort(function (a, b) { return a - b; });
      veil = veil || element("rect", { "class": "veil", height: chart.height }, chart.svg);
      veil.setAttribute("x", ends[0] * 100 + "%");
      veil.setAttribute("width", (ends[1] - ends[0]) * 100 + "%");
      chart.quiet();
    });
    plot.addEventListener("pointerleave", function () { chart.quiet(); });
    if (!chart.over_time) { return; }
    function end() {
      if (veil) { veil.remove(); }
      begin = veil = null;
    }
    plot.addEventListener("pointerdown", function (event) {
      if (event.pointerType === "touch" || event.button !== 0) { return; }
      event.preventDefault();
      plot.setPointerCapture(event.pointerId);
      begin = at(event);
    });
    plot.addEventListener("pointercancel", end);
    plot.addEventListener("pointerup", function (event) {
      var ends = begin === null ? [0, 0] : [begin, at(event)].sort(function (a, b) { return a - b; });
      var length = range[1] - range[0];
      end();
      // A click is no drag, and a thousandth of the whole is the least.
      if ((ends[1] - ends[0]) * plot.clientWidth < 5 || (ends[1] - ends[0]) * length < 0.001) { return; }
      range = [range[0] + ends[0] * length, range[0] + ends[1] * length];
      showAll();
    });
    plot.addEventListener("dblclick", function () { range = [0, 1]; showAll(); });
  });

  // A name of a legend hides its series, and shows it again.
  all("button[data-shows]").forEach(function (button) {
    button.addEventListener("click", function () {
      var figure = button.closest("figure"), shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      all("[data-series=\"" + button.dataset.shows + "\"]", figure).forEach(function (group) { group.classList.toggle("off", !shown); });
      charts.forEach(function (chart) { if (chart.figure === figure) { chart.restack(); } });
    });
  });

  // A link opens what it leads to; one button opens all, and closes them again.
  var folded = all("details.part"), unfold = document.getElementById("unfold");
  // A page that is read again, such as that of a run under way, has the same parts open.
  var kept = "helenus-open " + location.pathname;
  function opened() { return folded.map(function (part) { return part.open ? part.lastElementChild.id : ""; }); }
  try {
    var before = (sessionStorage.getItem(kept) || "").split(" ");
    folded.forEach(function (part) { part.open = before.indexOf(part.lastElementChild.id) >= 0; });
  } catch (forgets) { }
  folded.forEach(function (part) {
    part.addEventListener("toggle", function () {
      fit();
      try { sessionStorage.setItem(kept, opened().join(" ")); } catch (forgets) { }
    });
  });
  all("nav a[href^=\"#\"]").forEach(function (link) {
    link.addEventListener("click", function () {
      var part = document.querySelector(link.getAttribute("href")).closest("details");
      if (part) { part.open = true; }
    });
  });
  if (unfold) {
    unfold.addEventListener("click", function () {
      var open = folded.some(function (part) { return !part.open; });
      folded.forEach(function (part) { part.open = open; });
      unfold.textContent = open ? "close all" : "open all";
    });
  }

  // A switch takes a kind of band away from all charts: they draw them from one place.
  all("[data-band]").forEach(function (box) {
    box.addEventListener("change", function () {
      var kind = document.querySelector("g[data-kind=\"" + box.dataset.band + "\"]");
      if (box.checked) { kind.removeAttribute("display"); } else { kind.setAttribute("display", "none"); }
    });
  });

  document.getElementById("theme").addEventListener("click", function () {
    var dark = root.getAttribute("data-theme") ? root.getAttribute("data-theme") === "dark" : prefersDark.matches;
    root.setAttribute("data-theme", dark ? "light" : "dark");
    // A page in a file, or a browser without storage, forgets it.
    try { localStorage.setItem("helenus-theme", dark ? "light" : "dark"); } catch (forgets) { }
  });

  // Tables of runs: a head sorts, once more the other way; the field above keeps the rows that have its words.
  document.querySelectorAll("table.sortable").forEach(function (table) {
    var body = table.tBodies[0], field = table.closest(".sheet").querySelector("input");
    var rows = Array.prototype.slice.call(body.rows), by = null, down = false;
    function value(row) {
      var text = row.cells[by].textContent.trim(), number = parseFloat(text.replace(/,/g, ""));
      return { text: text, number: number };
    }
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, place) {
      head.querySelector("button").addEventListener("click", function () {
        down = by === place && !down;
        by = place;
        var sorted = rows.slice().sort(function (a, b) {
          var x = value(a), y = value(b);
          var order = isNaN(x.number) || isNaN(y.number) ? x.text.localeCompare(y.text, undefined, { numeric: true }) : x.number - y.number;
          return down ? -order : order;
        });
        sorted.forEach(function (row) { body.appendChild(row); });
        Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
      });
    });
    field.addEventListener("input", function () {
      var words = field.value.toLowerCase().split(/\s+/);
      rows.forEach(function (row) {
        var text = row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
      });
    });
  });

  var waiting = null;
  window.addEventListener("resize", function () { clearTimeout(waiting); waiting = setTimeout(fit, 100); });
  // Paper has room for fewer ticks than a wide window.
  window.addEventListener("beforeprint", function () { showAll(560); });
  window.addEventListener("afterprint", fit);
  fit();
}
