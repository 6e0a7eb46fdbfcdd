// Starts the slides: wide on a screen, upright on a phone. Options may stand in the address, as ?showNotes=true.
(function () {
  "use strict";
  var upright = window.matchMedia("(orientation: portrait) and (max-width: 600px)");

  function frame() {
    if (!upright.matches) return { width: 1280, height: 720, margin: 0.03 };
    return { width: 480, height: Math.round(480 * window.innerHeight / window.innerWidth), margin: 0 };
  }

  function fit() {
    document.documentElement.classList.toggle("upright", upright.matches);
    Reveal.configure(frame());
  }

  // Words stand beside a figure, but below one that is much wider than high. The heading, too, stands beside a high one.
  document.querySelectorAll(".room img").forEach(function (image) {
    function look() {
      image.closest(".room").classList.toggle("wide", image.naturalWidth > 1.75 * image.naturalHeight);
      image.closest("section").classList.toggle("tall", image.naturalHeight > 0.85 * image.naturalWidth);
    }
    if (image.complete) look(); else image.addEventListener("load", look);
  });

  document.documentElement.classList.toggle("upright", upright.matches);
  Reveal.initialize(Object.assign(frame(), {
    center: false, hash: true, slideNumber: "c/t", transition: "none", display: "flex", minScale: 0.1, maxScale: 4,
    scrollActivationWidth: 0, pdfMaxPagesPerSlide: 1, plugins: [RevealNotes]
  })).then(function () {
    upright.addEventListener("change", fit);
    // The arrows are no aside of the text, which reveal.js makes them.
    document.querySelector(".reveal > .controls").setAttribute("role", "none");
  });
})();
