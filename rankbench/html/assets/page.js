"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const make = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const labelled = (words, control) => {
    const label = make("label");
    label.append(`${words} `, control);
    return label;
  };
  const fill = (list, names) => list.replaceChildren(...names.map((name, at) => make("option", name, {value: at})));
  document.documentElement.classList.add("ready");

  // A link into the folded part, or to its heading, unfolds it.
  const unfold = hash => {
    const folded = document.getElementById(decodeURIComponent(hash.slice(1)))?.closest("details");
    if (folded) folded.open = true;
  };
  window.addEventListener("hashchange", () => unfold(location.hash));
  document.addEventListener("click", event => {
    const link = event.target.closest("a[href^='#']");
    if (link) unfold(link.hash);
  });
  unfold(location.hash);

  // Charts: drawn when a reader comes near them.
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const tip = document.getElementById("tip");
  const show = (_handler, event, _item, value) => {
    tip.hidden = value === null || value === undefined || value === "";
    if (tip.hidden) return;
    tip.replaceChildren(...Object.entries(value).map(([name, said]) => make("div", `${name}: ${said}`)));
    const left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 4);
    const below = event.clientY + 12;
    const fits = below + tip.offsetHeight <= window.innerHeight;
    tip.style.left = `${Math.max(left, 4)}px`;
    tip.style.top = `${fits ? below : event.clientY - tip.offsetHeight - 8}px`;
  };
  // Names of rows are cut to a length, those as they are that would be alike; a letter has some 6 pixels.
  const limit = names => {
    const most = window.innerWidth < 600 ? 120 : 240;
    return new Set(names.map(name => name.slice(0, most / 8))).size < new Set(names).size ? 0 : most;
  };
  const config = names => {
    const ink = dark.matches ? "#e8e8e8" : "#1b1b1b", line = dark.matches ? "#44484d" : "#dddddd";
    return {
      background: "transparent", title: {color: ink}, view: {stroke: null}, rule: {color: ink},
      point: {color: dark.matches ? "#56b4e9" : "#0072b2"},
      axis: {
        labelColor: ink, titleColor: ink, gridColor: line, domainColor: ink, tickColor: ink,
        titleFontWeight: "normal", titleFontSize: 12, labelFontSize: 12, labelSeparation: 6,
        labelLimit: limit(names),
      },
      // The first label, moved into the plot, would cover the second, often zero, and every other one would go.
      axisXQuantitative: {labelFlush: false},
    };
  };
  // Colors of lines on paper that a dark page would swallow, and of hollow markers.
  const LIGHTER = {"#000000": "#ffffff", "#882255": "#f0e442", white: "#17191c"};
  // Bands that are faint on white vanish on black.
  const tinted = value => !dark.matches ? value : JSON.parse(JSON.stringify(value)
    .replace(/"(#000000|#882255|white)"/g, (_, color) => `"${LIGHTER[color]}"`)
    .replace(/"opacity":0\.1\d/g, '"opacity":0.35'));
  const SVG = "http://www.w3.org/2000/svg";
  const swatch = one => {
    const drawn = document.createElementNS(SVG, "svg"), r = 4;
    const part = (name, attributes) => {
      const made = drawn.appendChild(document.createElementNS(SVG, name));
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    };
    const outlines = {
      circle: `M${-r},0a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0`,
      square: `M${-r},${-r}H${r}V${r}H${-r}Z`,
      diamond: `M0,${-r}L${r},0L0,${r}L${-r},0Z`,
      cross: `M0,${-r}V${r}M${-r},0H${r}`,
      "triangle-up": `M0,${-r}L${r},${r}H${-r}Z`,
      "triangle-down": `M0,${r}L${r},${-r}H${-r}Z`,
      "triangle-left": `M${-r},0L${r},${-r}V${r}Z`,
    };
    const outline = outlines[one.shape] ?? `M${-r},${-r}L${r},${r}M${-r},${r}L${r},${-r}`;
    for (const [key, value] of [["width", 50], ["height", 14], ["aria-hidden", "true"]]) drawn.setAttribute(key, value);
    const stroke = {stroke: one.color, "stroke-width": 2, fill: "none"};
    part("line", {x1: 0, x2: 50, y1: 7, y2: 7, "stroke-dasharray": one.dash.join(" "), ...stroke});
    if (one.shape) part("path", {d: outline, transform: "translate(25,7)", ...stroke});
    return drawn;
  };
  const chosen = new WeakMap();
  const MANY = 12;
  const legend = (figure, chart, apply, views) => {
    const signals = chosen.get(figure), parts = [];
    const box = (on, ...words) => {
      const label = make("label"), input = label.appendChild(make("input", undefined, {type: "checkbox"}));
      input.checked = on;
      label.append(...words);
      parts.push(label);
      return input;
    };
    for (const one of chart.series.length > 1 || chart.series[0]?.color ? chart.series : []) {
      const input = box(!signals.hidden.includes(one.name), one.color ? swatch(tinted(one)) : "", one.name);
      input.addEventListener("change", () => {
        const others = signals.hidden.filter(name => name !== one.name);
        apply({hidden: input.checked ? others : [...others, one.name]});
      });
    }
    if (parts.length > MANY) {
      const folded = make("details");
      folded.append(make("summary", `${parts.length} rows`), ...parts.splice(0));
      parts.push(folded);
    }
    if (chart.bands) {
      const input = box(signals.bands, "bands");
      input.addEventListener("change", () => apply({bands: input.checked}));
    }
    if (chart.wide) {
      const list = make("select");
      fill(list, ["repetitions", `${chart.wide} and repetitions`]);
      list.value = Number(signals.wide);
      list.addEventListener("change", () => apply({wide: list.value === "1"}));
      parts.push(labelled("bands over", list));
    }
    if (chart.hollow) parts.push(make("span", `○ ${chart.hollow}`));
    if (chart.note) parts.push(make("span", chart.note));
    const zoom = make("span", undefined, {role: "group", "aria-label": "zoom"});
    for (const [key, sign, words] of [["+", "+", "zoom in"], ["-", "−", "zoom out"], ["0", "↺", "show all"]]) {
      const button = make("button", sign, {type: "button", "aria-label": words, title: words});
      button.addEventListener("click", () => views.forEach(view => move(view, MOVES[key])));
      zoom.append(button, " ");
    }
    parts.push(zoom, make("span", "Drag or arrow keys: move. Ctrl and wheel, + or -: zoom. Double click or 0: show all.",
      {class: "faint"}));
    figure.querySelector(".legend").replaceChildren(...parts);
  };
  // What a key does with a plot: a change of its axes, how much, and which axis if not each.
  const MOVES = {
    "+": ["zoom", 0.8], "-": ["zoom", 1.25], 0: [],
    ArrowLeft: ["pan", 0.1, "x"], ArrowRight: ["pan", -0.1, "x"], ArrowUp: ["pan", -0.1, "y"], ArrowDown: ["pan", 0.1, "y"],
  };
  // Where a zoom leaves a plot as it is: under the pointer, else at a line at 0 that shows, else in the middle (null).
  const pointed = new WeakMap(), based = new WeakMap();
  const kept = (view, axis, scale) => {
    const [low, high] = scale.domain();
    if (pointed.has(view)) return scale.invert(pointed.get(view)[axis]);
    return based.get(view).includes(axis) && low <= 0 && high >= 0 ? 0 : null;
  };
  const point = (view, event) => {
    const box = view.container().querySelector("svg").getBoundingClientRect(), [x, y] = view.origin();
    const {left, top} = view.padding(), at = {x: event.clientX - box.left - left - x, y: event.clientY - box.top - top - y};
    const inside = at.x >= 0 && at.x <= view.width() && at.y >= 0 && at.y <= view.height();
    if (inside) pointed.set(view, at); else pointed.delete(view);
  };
  const move = (view, [change, amount, only]) => {
    for (const axis of ["x", "y"]) {
      const scale = view.scale(axis), form = scale.type === "log" ? "Log" : "Linear";
      if (scale.type === "band" || (only && only !== axis)) continue;
      const arguments_ = change === "zoom" ? [kept(view, axis, scale), amount] : [amount];
      view.signal(`zoom_${axis}`, change ? vega[change + form](scale.domain(), ...arguments_) : null);
    }
    view.runAsync();
  };
  // The numbers of a figure as a table, for all who do not point at it.
  const numbers = chart => {
    const several = Array.isArray, rows = [];
    const ends = ["lower", "upper", ...chart.wide ? ["lower2", "upper2"] : []];
    for (const {description, data: {values}, layer} of chart.specs) {
      const levels = layer.map(one => one.data?.values ?? []).find(([one]) => one?.series !== undefined) ?? [];
      for (const one of [...values, ...levels]) {
        const name = one.label ?? one.series, plot = chart.specs.length > 1 ? description : "";
        if (several(one.y)) {
          one.y.forEach((y, i) => rows.push([plot, name, (one.at ?? one.x)[i], y, ...ends.map(end => one[end][i])]));
        } else rows.push([plot, name, "", one.y ?? one.x, ...ends.map(end => one[end]), one.note ?? ""]);
      }
    }
    return rows;
  };
  const tabulated = (figure, chart) => {
    const title = `Numbers of ${figure.querySelector("figcaption").textContent}`, folded = make("details");
    folded.append(make("summary", "Numbers"));
    figure.append(folded);
    folded.addEventListener("toggle", () => {
      const wide = folded.appendChild(make("div", undefined, {class: "wide", tabindex: 0, role: "group", "aria-label": title}));
      const over = chart.wide ? `, ${chart.wide} and repetitions` : "", table = make("table", undefined, {class: "data"});
      const head = ["plot", "series", "at", "value", "from", "to", ...chart.wide ? [`from${over}`, `to${over}`] : [], "note"];
      const rows = numbers(chart), kept = head.map((_, at) => rows.some(row => (row[at] ?? "") !== ""));
      const line = (cells, tag) => cells.flatMap((cell, at) => !kept[at] ? [] : make(tag, cell ?? "",
        at < 2 ? {"data-filter": "", class: "w"} : {class: "n"}));
      table.createTHead().insertRow().append(...line(head, "th"));
      const body = table.createTBody();
      for (const row of rows) body.insertRow().append(...line(head.map((_, at) => row[at]), "td"));
      wide.append(table);
      enhance(table, title);
    }, {once: true});
  };
  // Rows stay whole or are halved, or else plots stand one below the other.
  const beside = plots => {
    const {columns} = data.charts[plots.parentElement.dataset.chart];
    const fits = count => Number.isInteger(count) && plots.clientWidth >= 250 * count;
    const fitting = String([columns, columns / 2].find(fits) ?? 1);
    if (plots.style.getPropertyValue("--columns") === fitting) return;
    plots.style.setProperty("--columns", fitting);
    // Charts ask for their width then.
    window.dispatchEvent(new Event("resize"));
  };
  const widths = new ResizeObserver(all => all.forEach(({target}) => beside(target)));
  const draw = async figure => {
    const chart = data.charts[figure.dataset.chart], plots = figure.querySelector(".plots"), views = [];
    if (!chosen.has(figure)) chosen.set(figure, {hidden: [], bands: true, wide: false});
    const apply = changed => {
      Object.assign(chosen.get(figure), changed);
      for (const view of views) {
        for (const [name, value] of Object.entries(changed)) view.signal(name, value);
        view.runAsync();
      }
    };
    plots.replaceChildren();
    figure.classList.add("drawn");
    widths.observe(plots);
    beside(plots);
    legend(figure, chart, apply, views);
    if (!figure.querySelector(":scope > details")) tabulated(figure, chart);
    for (const spec of chart.specs) {
      const place = make("div", undefined, {tabindex: 0, role: "group", "aria-label": `plot: ${spec.description}`});
      const embedded = await vegaEmbed(plots.appendChild(place), tinted(spec), {
        // A hidden series leaves a layer empty, of which Vega would warn.
        logLevel: vega.Error, ast: true, renderer: "svg", actions: false, defaultStyle: false, tooltip: show,
        config: config(chart.series.map(one => one.name)),
        loader: {load: () => Promise.reject(new Error("no network"))},
      });
      views.push(embedded.view);
      based.set(embedded.view, ["x", "y"].filter(axis => spec.layer.some(one => one.encoding?.[axis]?.datum === 0)));
      place.addEventListener("pointermove", event => point(embedded.view, event));
      place.addEventListener("pointerleave", () => pointed.delete(embedded.view));
      place.addEventListener("keydown", event => {
        if (!(event.key in MOVES) || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        move(embedded.view, MOVES[event.key]);
      });
    }
    apply(chosen.get(figure));
  };
  if (window.vegaEmbed) {
    const near = new IntersectionObserver(entries => {
      for (const {isIntersecting, target} of entries) {
        if (isIntersecting) {
          near.unobserve(target);
          draw(target);
        }
      }
    }, {rootMargin: "400px"});
    const figures = document.querySelectorAll("figure[data-chart]");
    for (const figure of figures) near.observe(figure);
    // The others when the browser has nothing else to do, but for those in the part that is folded away.
    const idle = () => new Promise(done => (window.requestIdleCallback ?? setTimeout)(done));
    (async () => {
      for (const figure of figures) {
        await idle();
        if (figure.matches(".drawn, details:not([open]) *")) continue;
        near.unobserve(figure);
        await draw(figure);
      }
    })();
    dark.addEventListener("change", () => document.querySelectorAll("figure.drawn").forEach(draw));
  }

  // Tables: sort, filter, search, copy.
  const texts = row => [...row.cells].map(cell => cell.textContent);
  const asCsv = rows => {
    const cell = text => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    return rows.map(row => `${row.map(cell).join(",")}\n`).join("");
  };
  const asLatex = ([titles, ...rows], numbers) => {
    // As rankbench.core.text.latex: two hyphens, quotes or commas would become one sign.
    const letter = found => found === "\0" ? "{}" : data.latex[found] ?? found;
    const cell = text => [...text.replace(/([-',])(?=\1)/g, "$1\0")].map(letter).join("");
    const line = row => `${row.map(cell).join(" & ")} \\\\`;
    const columns = numbers.map(is => is ? "r" : "l").join("");
    const body = [line(titles), "\\midrule", ...rows.map(line)];
    return [`\\begin{tabular}{${columns}}`, "\\toprule", ...body, "\\bottomrule", "\\end{tabular}", ""].join("\n");
  };
  const place = text => parseFloat(text.replace(/[,<]/g, ""));
  if (window.DataTable) {
    // Empty cells stand last, whichever way a column is sorted.
    const by = sign => (a, b) => Number.isNaN(a) - Number.isNaN(b) || sign * (a - b) || 0;
    DataTable.type("number", {order: {pre: place, asc: by(1), desc: by(-1)}});
  }
  let standings;
  const MOST_PRINTED = 200, FEW_ROWS = 15, PAGE = 25;
  const enhance = (table, title) => {
    const head = [...table.tHead.rows[0].cells], wide = table.closest(".wide");
    if (table.matches(".md")) {
      head.forEach((cell, at) => {
        const said = [...table.tBodies[0].rows].map(row => row.cells[at].textContent), several = new Set(said).size;
        if (said.every(text => !text || text === "—" || !Number.isNaN(place(text)))) cell.classList.add("n");
        else if (several > 1 && several <= said.length / 2) cell.dataset.filter = "";
      });
    }
    const numeric = head.map(cell => cell.classList.contains("n")), titles = head.map(cell => cell.textContent);
    const places = wanted => head.flatMap((cell, at) => wanted(cell) ? [at] : []);
    const later = places(cell => "more" in cell.dataset);
    table.classList.toggle("short", table.tBodies[0].rows.length <= PAGE);
    // A reader sees all of a small table at once.
    const few = table.tBodies[0].rows.length < FEW_ROWS, nothing = {topStart: null, topEnd: null, bottomStart: null, bottomEnd: null};
    const grid = new DataTable(table, {
      order: [], pageLength: PAGE, autoWidth: false, lengthMenu: [PAGE, 100, -1], ...few ? {layout: nothing} : {},
      paging: !table.matches(".short"),
      columnDefs: [
        {targets: later, className: "more"},
        {targets: places(cell => cell.classList.contains("n")), type: "number"},
        {targets: "_all", type: "string"},
      ],
    });
    // The library sorts by Enter alone.
    table.tHead.addEventListener("keydown", event => {
      if (event.key !== " ") return;
      event.preventDefault();
      event.target.click();
    });
    // Only the table scrolls sideways, not what stands around it.
    const cell = table.parentElement, container = table.closest(".dt-container");
    wide.before(container);
    wide.append(table);
    cell.append(wide);
    container.querySelector("nav")?.setAttribute("aria-label", `pages of ${title}`);
    if (table.querySelector("tbody button")) standings = {titles, rows: grid.rows().nodes().toArray()};
    const filters = make("div", undefined, {class: "filters"});
    container.before(filters);
    for (const at of places(cell => "filter" in cell.dataset)) {
      const found = grid.column(at).nodes().toArray().map(one => one.textContent), values = [...new Set(found)];
      if (values.length < 2) continue;
      if (numeric[at]) values.sort((a, b) => place(a) - place(b));
      const list = make("select"), grouped = text => numeric[at] ? Number(text).toLocaleString("en") : text;
      fill(list, ["all", ...values.map(text => text ? grouped(text) : "none")]);
      list.addEventListener("change", () => {
        const value = values[list.value - 1];
        const search = value === undefined ? null : (_text, _row, i) => found[i] === value;
        grid.column(at).search.fixed("chosen", search).draw();
      });
      filters.append(labelled(titles[at], list));
    }
    if (later.length) {
      const all = make("input", undefined, {type: "checkbox"});
      all.addEventListener("change", () => table.classList.toggle("less", !all.checked));
      table.classList.add("less");
      filters.append(labelled("all columns", all));
    }
    if (few) return;
    const copied = make("p", undefined, {class: "copy"}), told = make("span", undefined, {role: "status"});
    // Programs read numbers: as the file has a p below its digits, and without commas and words.
    const plain = text => text.replace(/^< .*/, "0.000000").replace(/(\d),(?=\d{3})/g, "$1").replace("not determined", "");
    const copy = async form => {
      const rows = grid.rows({search: "applied", order: "applied"}).nodes().toArray().map(texts);
      const numbers = row => row.map((text, at) => numeric[at] ? plain(text) : text);
      const text = form === "CSV" ? asCsv([titles, ...rows.map(numbers)]) : asLatex([titles, ...rows], numeric);
      try {
        await navigator.clipboard.writeText(text);
        told.textContent = `${rows.length} rows copied`;
      } catch {
        told.replaceChildren(make("textarea", text, {readonly: "", rows: 6, "aria-label": "copy this"}));
      }
    };
    for (const form of ["CSV", "LaTeX"]) {
      const button = make("button", `Copy as ${form}`, {type: "button"});
      button.addEventListener("click", () => copy(form));
      copied.append(button, " ");
    }
    copied.append(told);
    container.after(copied);
    // Paper has no buttons: it gets all rows of a table that is not too long for it; others say how many they have.
    const length = grid.page.len();
    window.addEventListener("beforeprint", () => {
      if (grid.page.len() === length && grid.page.info().recordsDisplay <= MOST_PRINTED) grid.page.len(-1).draw();
    });
    window.addEventListener("afterprint", () => grid.page.len(length).draw());
  };
  for (const table of document.querySelectorAll("table.data")) {
    enhance(table, table.closest(".wide").getAttribute("aria-label"));
  }

  // On a phone the cells of a wide row stand below one another, each with its column's title; tables with pages scroll.
  for (const table of document.querySelectorAll(".wide > table:has(th:nth-child(3)):not(.data:not(.short), :has([data-more]))")) {
    const titles = texts(table.tHead.rows[0]);
    table.classList.add("stacked");
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, at) => { cell.dataset.title = titles[at]; });
    for (const [part, role] of [["thead, tbody", "rowgroup"], ["tr", "row"], ["th", "columnheader"], ["td", "cell"]]) {
      table.querySelectorAll(part).forEach(one => one.setAttribute("role", role));
    }
    table.setAttribute("role", "table");
  }

  // A table that goes on at the right fades there.
  const fades = new ResizeObserver(all => all.forEach(({target}) => fade(target)));
  const fade = wide => wide.classList.toggle("on", wide.scrollLeft + wide.clientWidth < wide.scrollWidth - 1);
  for (const wide of document.querySelectorAll(".wide")) {
    fades.observe(wide);
    wide.addEventListener("scroll", () => fade(wide));
  }

  // Paired differences: of each pair in turn the difference, and the ends of two intervals, in millionths.
  const difference = (pairs, a, b) => {
    if (a === b) return null;
    const [low, high] = [Math.min(a, b), Math.max(a, b)], count = data.lists[pairs.names].length;
    const at = 5 * (low * count - low * (low + 1) / 2 + high - low - 1), turn = low === a ? 1 : -1;
    const [value, ...ends] = pairs.values.slice(at, at + 5).map(one => one === null ? null : turn * one / 1e6);
    const turned = (from, to) => from === null ? null : turn > 0 ? [from, to] : [to, from];
    const both = turned(ends[0], ends[1]), alone = turned(ends[2], ends[3]), sign = pairs.better === "less" ? -1 : 1;
    const clear = both && (both[0] > 0 ? sign : both[1] < 0 ? -sign : 0);
    const verdict = !both ? "no interval" : clear > 0 ? "significantly better" : clear < 0 ? "significantly worse"
      : "no significant difference";
    return {value, both, alone, verdict};
  };

  // Kinds of intervals in a table, each with its place: two where it has two.
  const kinds = pairs => {
    const every = wanted => pairs.values.every((_, at) => at % 5 || wanted(pairs.values.slice(at + 1, at + 5)));
    if (every(ends => ends[2] === null)) return [[pairs.units, "both"]];
    if (every(ends => ends[0] === ends[2] && ends[1] === ends[3])) return [["repetitions", "both"]];
    return [[`${pairs.units} and repetitions`, "both"], ["repetitions", "alone"]];
  };

  // A contender's panel.
  const panel = document.getElementById("panel");
  const question = ({experiment, dataset, metric, split}) => [experiment, dataset, metric, split].join("\n");
  for (const pairs of data.pairs) pairs.dataset ||= "made by the protocol";
  const largest = new Map(data.pairs.map(pairs => [question(pairs), pairs]));
  const meetings = label => [...largest.values()].flatMap(pairs => {
    const names = data.lists[pairs.names], a = names.indexOf(label);
    if (a < 0) return [];
    const against = verdict => names.filter((_, b) => difference(pairs, a, b)?.verdict === verdict);
    const rest = names.length - 1, untested = against("no interval").length;
    const verdicts = ["significantly better than", "significantly worse than", ...untested ? ["no interval against"] : []];
    const said = verdicts.map(words => {
      const found = against(words.replace(/ (than|against)$/, ""));
      const between = found.some(one => one.includes(",")) ? "; " : ", ";
      return `${words} ${found.length} of ${rest}${found.length ? ": " : ""}${found.join(between)}`;
    });
    const how = `(each pair alone, 95% over ${kinds(pairs)[0][0]})`;
    const none = "no intervals: nothing says which contenders differ significantly";
    const told = untested < rest ? [...said, how].join("\n") : none;
    const {experiment, n, metric, split} = pairs, title = `${experiment}, ${n && `n = ${n}, `}${metric}, ${split}`;
    return [[title, told]];
  });
  document.addEventListener("click", event => {
    const button = event.target.closest("tbody button");
    if (!button) return;
    const label = button.textContent, at = standings.titles.indexOf("contender");
    panel.querySelector("h2").textContent = label;
    const known = (data.panels[label] ?? []).map(([name, place]) => [name, data.texts[place]]);
    const facts = [...meetings(label), ...known];
    panel.querySelector("dl").replaceChildren(...facts.flatMap(([name, said]) => {
      const told = make("dd", said.html ? undefined : said);
      if (said.html) {
        const wide = make("div", undefined, {class: "wide", tabindex: 0, role: "group", "aria-label": name});
        wide.innerHTML = said.html;
        told.append(wide);
      }
      return [make("dt", name), told];
    }));
    const table = make("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    const note = document.querySelector("#standings + p");
    head.append(...standings.titles.map(title => make("th", title, {scope: "col"})));
    for (const row of standings.rows.map(texts).filter(row => row[at] === label)) {
      body.insertRow().append(...row.map(text => make("td", text)));
    }
    panel.querySelector(".rows").replaceChildren(...note ? [note.cloneNode(true)] : [], table);
    panel.showModal();
  });

  // Two against each other, in the table that a reader chooses part by part.
  const section = document.getElementById("pairs");
  if (section) {
    const form = section.querySelector("form"), {first, second} = form.elements, told = section.querySelector("output");
    const parts = ["experiment", "dataset", "n", "metric", "split"], lists = parts.map(() => make("select"));
    form.prepend(...parts.map((part, at) => labelled(part, lists[at])));
    const chosenOf = list => list.selectedOptions[0]?.textContent;
    // What was chosen stays chosen where it is still there.
    const refill = (list, names, otherwise) => {
      const before = names.indexOf(chosenOf(list));
      fill(list, names);
      list.value = before < 0 ? otherwise : before;
    };
    let pairs;
    const say = () => {
      const names = data.lists[pairs.names], [a, b] = [Number(first.value), Number(second.value)];
      const found = difference(pairs, a, b);
      if (!found) {
        told.textContent = "Choose two different contenders.";
        return;
      }
      const {value, both, alone, verdict} = found;
      const digits = Math.max(...[value, ...both ?? [], ...alone ?? []].map(Math.abs)) < 0.01 ? 6 : 4;
      const signed = one => `${one > 0 ? "+" : ""}${one.toFixed(digits)}`;
      const interval = ends => ends ? `[${ends.map(signed).join(", ")}]` : "none";
      const intervals = kinds(pairs).map(([words, which]) => `over ${words} ${interval(found[which])}`).join(", ");
      const tested = both ? `95% ${intervals}: ${verdict} (this pair alone; ` : `${verdict} (`;
      told.textContent = `${names[a]} minus ${names[b]}: ${signed(value)}; ${tested}${pairs.better} is better).`;
    };
    const choose = () => {
      let left = data.pairs;
      parts.forEach((part, at) => {
        const values = [...new Set(left.map(one => one[part]))];
        refill(lists[at], values, part === "n" ? values.length - 1 : 0);
        lists[at].parentElement.hidden = new Set(data.pairs.map(one => one[part])).size < 2;
        left = left.filter(one => one[part] === chosenOf(lists[at]));
      });
      [pairs] = left;
      refill(first, data.lists[pairs.names], 0);
      refill(second, data.lists[pairs.names], 1);
      say();
    };
    lists.forEach(list => list.addEventListener("change", choose));
    first.addEventListener("change", say);
    second.addEventListener("change", say);
    choose();
  }
})();
