// MathJax can also draw formulas as SVG and speak them in other languages, for which this site has no files
// (book/weight.py). Its menu does not offer them here, and what a reader has chosen on another site is passed over.
(function () {
  "use strict";
  var key = "MathJax-Menu-Settings";
  try {
    var settings = JSON.parse(localStorage.getItem(key)) || {};
    if (settings.renderer || settings.locale) {
      delete settings.renderer;
      delete settings.locale;
      localStorage.setItem(key, JSON.stringify(settings));
    }
  } catch (blocked) { /* nothing is stored */ }

  window.addEventListener("load", function () {
    if (!window.MathJax || !MathJax.startup) return;
    MathJax.startup.promise.then(function () {
      var menu = MathJax.startup.document.menu.menu;
      menu.findID("Settings", "Renderer").disable();
      menu.findID("Accessibility", "Speech", "A11yLanguage").disable();
    });
  });
})();
