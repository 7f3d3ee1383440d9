// Flame graphs: a click zooms to a frame, the field marks frames by a part of their names.
(function () {
  var SVG = "http://www.w3.org/2000/svg";
  Array.prototype.forEach.call(document.querySelectorAll("figure.flame"), function (figure) {
    var field = figure.querySelector("input"), found = figure.querySelector(".found"), whole = figure.querySelector("button");
    var frames = Array.prototype.map.call(figure.querySelectorAll("svg.stacks > svg"), function (element) {
      var words = element.querySelector("title").textContent;
      return { element: element, text: element.querySelector("text"), name: words.replace(/: [^:]*$/, ""),
        x: parseFloat(element.getAttribute("x")), width: parseFloat(element.getAttribute("width")) };
    });

    function named(frame) {
      if (frame.text) { return; }
      frame.text = document.createElementNS(SVG, "text");
      frame.text.setAttribute("x", 3);
      frame.text.setAttribute("y", 12);
      var java = frame.element.querySelector(".fk-cassandra, .fk-java");
      frame.text.textContent = java ? frame.name.split(".").slice(-2).join(".") : frame.name;
      frame.element.appendChild(frame.text);
    }

    function show(from, width) {
      frames.forEach(function (frame) {
        var left = Math.max(0, (frame.x - from) / width), right = Math.min(1, (frame.x + frame.width - from) / width);
        frame.element.style.display = right - left < 1e-6 ? "none" : "";
        frame.element.setAttribute("x", left * 100 + "%");
        frame.element.setAttribute("width", Math.max(0, right - left) * 100 + "%");
        if (right - left > 0.008) { named(frame); }
      });
      whole.hidden = width === 100;
    }

    frames.forEach(function (frame) {
      frame.element.addEventListener("click", function () { show(frame.x, frame.width); });
    });
    whole.addEventListener("click", function () { show(0, 100); });
    field.addEventListener("input", function () {
      var part = field.value.trim().toLowerCase(), reached = 0, sum = 0;
      var hits = frames.filter(function (frame) {
        var hit = part !== "" && frame.name.toLowerCase().indexOf(part) >= 0;
        frame.element.classList.toggle("hit", hit);
        return hit;
      });
      // Where one hit calls another, what they cover together counts once.
      hits.sort(function (a, b) { return a.x - b.x; }).forEach(function (hit) {
        sum += Math.max(0, hit.x + hit.width - Math.max(hit.x, reached));
        reached = Math.max(reached, hit.x + hit.width);
      });
      found.textContent = part === "" ? "" : hits.length + " frames, " + sum.toFixed(1) + " %";
    });
  });
}());
