"use strict";
// The page's own script: charts are drawn when they come into view, zoom together, and follow the theme.
(function () {
  var figures = Array.prototype.slice.call(document.querySelectorAll("figure.chart"));
  var root = document.documentElement;
  var coarse = window.matchMedia("(pointer: coarse)").matches;
  var prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  var hidden = {}, range = null, busy = false, printing = false;
  var LOOK = { displaylogo: false, responsive: true, doubleClick: "reset", showTips: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"], toImageButtonOptions: { scale: 2 } };

  var block = document.getElementById("bands");
  var bands = block ? JSON.parse(block.textContent) : [];

  function colour(name) {
    return getComputedStyle(root).getPropertyValue("--" + name).trim() || "#888888";
  }

  function dressTrace(trace) {
    var c = colour(trace.role), line = Object.assign({}, trace.line, { color: c });
    var out = Object.assign({}, trace, { line: line, marker: Object.assign({}, trace.marker, { color: c, line: { color: c, width: 1.5 } }) });
    if (out.stackgroup) { out.fillcolor = c; }
    ["error_x", "error_y"].forEach(function (e) { if (trace[e]) { out[e] = Object.assign({}, trace[e], { color: c }); } });
    delete out.role;
    return out;
  }

  function dressShape(shape) {
    var c = colour(shape.type === "line" ? "ink" : "band-" + shape.name);
    var out = Object.assign({}, shape, { line: { color: c, width: 1 } });
    if (shape.type === "rect") { out.fillcolor = c; out.opacity = Number(colour("band-opacity")) || 0.3; }
    return out;
  }

  function dressAxis(axis, narrow) {
    return Object.assign({ gridcolor: colour("grid"), linecolor: colour("line"), zerolinecolor: colour("line"),
      tickfont: { size: narrow ? 10 : 12 }, automargin: true, spikecolor: colour("muted"), spikethickness: 1 }, axis);
  }

  function dress(figure) {
    var data = figure.data, narrow = figure.plot.clientWidth < 520;
    var layout = Object.assign({}, data.layout);
    layout.xaxis = dressAxis(layout.xaxis, narrow);
    layout.yaxis = dressAxis(layout.yaxis, narrow);
    if (layout.xaxis.title) { layout.xaxis.title = Object.assign({ standoff: 6, font: { size: 11, color: colour("muted") } }, layout.xaxis.title); }
    if (narrow && layout.yaxis.title) { layout.yaxis.title = Object.assign({ font: { size: 11 } }, layout.yaxis.title); }
    if (data.time && range) { layout.xaxis = Object.assign({}, layout.xaxis, { range: range.slice() }); }
    layout.shapes = (data.time ? bands : layout.shapes || []).filter(function (s) { return !hidden[s.name]; }).map(dressShape);
    layout.annotations = (layout.annotations || []).map(function (a) {
      return Object.assign({ font: { size: 11, color: colour("muted") } }, a);
    });
    Object.assign(layout, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
      font: { family: getComputedStyle(document.body).fontFamily, color: colour("ink"), size: 12 },
      margin: { l: narrow ? 44 : 60, r: 12, t: 22, b: 40 }, uirevision: "kept",
      dragmode: coarse ? false : "zoom", hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } },
      legend: { orientation: "h", x: 0, y: 0, yref: "container", yanchor: "bottom", font: { size: narrow ? 10 : 12 } },
      modebar: { color: colour("muted"), activecolor: colour("ink"), bgcolor: "rgba(0,0,0,0)", orientation: "h" },
      showlegend: data.traces.length > 1 });
    if (printing) { layout.autosize = false; layout.width = 680; layout.height = figure.plot.clientHeight; }
    return { traces: data.traces.map(dressTrace), layout: layout };
  }

  function draw(element) {
    var figure = element.figure;
    if (!figure) {
      figure = element.figure = { plot: element.querySelector(".plot"),
        data: JSON.parse(element.querySelector("script").textContent) };
    }
    var d = dress(figure);
    if (figure.drawn) { Plotly.react(figure.plot, d.traces, d.layout, LOOK); return; }
    figure.drawn = true;
    Plotly.newPlot(figure.plot, d.traces, d.layout, LOOK);
    element.setAttribute("data-drawn", "yes");
    if (figure.data.time) { figure.plot.on("plotly_relayout", function (change) { zoomed(figure, change); }); }
  }

  // One axis of time: whoever changes it changes it everywhere, also where nothing is drawn yet.
  function zoomed(from, change) {
    if (busy || !Object.keys(change).some(function (k) { return k.indexOf("xaxis") === 0; })) { return; }
    var to = from.plot.layout.xaxis.range.map(Number);
    // Plotly tells of its own changes later, when `busy` is over: what is already so is no news.
    if (range && Math.abs(range[0] - to[0]) + Math.abs(range[1] - to[1]) < 1e-9 * (Math.abs(to[1]) + 1)) { return; }
    range = to;
    busy = true;
    figures.forEach(function (element) {
      var f = element.figure;
      if (f && f.drawn && f.data.time && f !== from) { Plotly.relayout(f.plot, { "xaxis.range": range.slice() }); }
    });
    busy = false;
  }

  function redraw() {
    document.querySelectorAll("[data-swatch]").forEach(function (s) {
      s.style.background = colour("band-" + s.getAttribute("data-swatch"));
    });
    figures.forEach(function (element) { if (element.figure && element.figure.drawn) { draw(element); } });
  }

  document.getElementById("theme").addEventListener("click", function () {
    var dark = root.getAttribute("data-theme") ? root.getAttribute("data-theme") === "dark" : prefersDark.matches;
    root.setAttribute("data-theme", dark ? "light" : "dark");
    redraw();
  });
  prefersDark.addEventListener("change", redraw);
  document.querySelectorAll("[data-band]").forEach(function (box) {
    box.addEventListener("change", function () { hidden[box.getAttribute("data-band")] = !box.checked; redraw(); });
  });

  var theme = null;
  window.addEventListener("beforeprint", function () {
    printing = true;
    theme = root.getAttribute("data-theme");
    root.setAttribute("data-theme", "light");
    figures.forEach(draw);
  });
  window.addEventListener("afterprint", function () {
    printing = false;
    if (theme) { root.setAttribute("data-theme", theme); } else { root.removeAttribute("data-theme"); }
    figures.forEach(draw);
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

  redraw();
  var seen = new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) {
      if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
    });
  }, { rootMargin: "300px 0px" });
  figures.forEach(function (element) { seen.observe(element); });
})();
