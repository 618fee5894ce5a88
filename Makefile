# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
SUITE ?= all

.PHONY: demo test bench cleanroom frontend lint doctor clean

demo:            ## install, load the demo shop, go live, print the address
	@$(PYTHON) deploy/install/bootstrap.py demo
	@exec .venv/bin/lumihost demo $(ARGS)

test:            ## install test tools (Debian packages when root), run every check and test; SUITE=lint|unit|… for one
	@$(PYTHON) deploy/install/system_packages.py
	@$(PYTHON) deploy/install/bootstrap.py test
	@.venv/bin/python deploy/install/suites.py $(SUITE)

bench:           ## print the measured figures beside their goals
	@$(PYTHON) deploy/install/bootstrap.py test
	@.venv/bin/python -m tests.bench

cleanroom:       ## prove both commands in a bare Debian chroot (root, debootstrap)
	@sh deploy/install/cleanroom.sh

frontend:        ## build the console again
	@$(PYTHON) deploy/install/bootstrap.py demo

lint:
	@.venv/bin/python deploy/install/suites.py lint

doctor:
	@.venv/bin/lumihost doctor

clean:           ## remove what was installed and made; the checkout stays
	rm -rf .venv var frontend/node_modules platform/lumihost/web/static/app
